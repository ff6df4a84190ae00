"""What a tape keeps of the bodies of messages."""

from __future__ import annotations

from typing import Final

import msgspec

from extensions.tape.tape_writer import Redact
from rdss_sandbox.shapes.tape import TapedMessage
from schemas.contract import Contract

WHOLE: Final = "whole"
REDACTED: Final = "redacted"
NONE: Final = "none"
BODIES: Final = (REDACTED, WHOLE, NONE)


def leave_bodies_out(contract: Contract, redact: Redact | None = None) -> Redact:
    """Keep of a message its size and the contract's fields, as ``redact`` left them."""
    fields = tuple((each.name, each.attribute) for each in contract.fields)

    def leave_out(message: TapedMessage) -> TapedMessage:
        message = redact(message) if redact is not None else message
        if message.body is None:
            return message
        peek = contract.peek(message.body, message.key)
        found = {name: getattr(peek, attribute, None) for name, attribute in fields}
        header = {name: value for name, value in found.items() if value is not None}
        return msgspec.structs.replace(message, body=None, header=header)

    return leave_out
