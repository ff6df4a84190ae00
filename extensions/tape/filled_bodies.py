"""Bodies in place of those that a tape has not kept."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec

from rdss_sandbox.shapes.tape import TapedMessage
from schemas.contract import Contract

_LETTER: Final = b"x"


def fill(message: TapedMessage, contract: Contract, now: float) -> TapedMessage:
    """The message with a body of its size: a sample of its type, published at ``now``, the same for an id.

    What the tape could not read, or a sample is too large for, is no message then either.
    """
    if message.body is not None:
        return message
    body = _make_sample(message, contract, now) if message.header else None
    return msgspec.structs.replace(message, body=body or _LETTER * message.size)


def _make_sample(message: TapedMessage, contract: Contract, now: float) -> bytes | None:
    if contract.samples is None or contract.changes is None:
        return None
    named = str(message.header.get("id") or message.number or message.at)
    seed = int.from_bytes(blake2b(named.encode(), digest_size=4).digest())
    kind = message.header.get("type")
    try:
        sample = contract.samples.from_seed(seed, now=now).message(kind if isinstance(kind, str) else None)
    except ValueError:
        return None
    return contract.changes.grow(sample.data, message.size) if len(sample.data) <= message.size else None
