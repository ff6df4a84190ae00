"""Changes of messages in transit: one that causes a code, and one that makes a message larger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from schemas.asyncapi.around import read_headers, write_headers
from schemas.asyncapi.declarations import Message
from schemas.asyncapi.message_payloads import UNREADABLE, decode_json
from schemas.asyncapi.mutations import Mutation, list_mutations, put
from schemas.asyncapi.peek import walk
from schemas.contract import Code
from schemas.headers import WithHeaders
from schemas.message_timestamps import timestamp

if TYPE_CHECKING:
    from random import Random  # noqa: TID251 -- the type of what is handed in

    from schemas.asyncapi.declared_contract import DeclaredContract

_SPOILT: Final = ("malformed", "unknown-type", "invalid", "expired", "oversize")
_TRIES: Final = 30
_LONG_AGO: Final = 0.0


class DeclaredChanges:
    """See ``schemas.contract.Changes``."""

    def __init__(self, contract: DeclaredContract) -> None:
        self._contract = contract
        self._reasons = {
            str(code): reason for reason, code in reversed(list(contract.declared.codes.items()))
        }
        named = {
            reason: code for reason, code in contract.declared.codes.items() if str(code) in contract.codes
        }
        self.codes: Final[tuple[Code, ...]] = tuple(
            named[reason] for reason in _SPOILT if reason in named and self._may_cause(reason)
        )

    def _may_cause(self, reason: str) -> bool:
        messages = self._contract.declared.messages
        place = self._contract.declared.type
        if reason == "unknown-type":
            parts = ("payload", "header") if self._contract.headers else ("payload",)
            return len(messages) > 1 and place is not None and place.part in parts
        if reason == "invalid":
            return any(
                (each.content in ("json", "text") and each.payload not in (None, True, {}))
                or (self._contract.headers is not None and each.headers not in (None, True, {}))
                for each in messages
            )
        if reason == "malformed":
            return all(each.content != "opaque" for each in messages)
        return True

    def spoil(self, raw: bytes, code: Code, draws: Random) -> bytes | None:
        """Of a message and its headers one is changed; a code that neither can cause is None."""
        reason = self._reasons.get(str(code))
        data, headers = read_headers(raw)
        if reason == "oversize":
            return write_headers(data.ljust(self._contract.max_bytes + 1), headers)
        if reason is None or not self._contract.judge(raw).valid:
            return None
        for _ in range(_TRIES):
            changed = self._change(data, headers, reason, draws)
            if changed is None:
                return None
            spoilt = write_headers(*changed)
            now = 1.0 if reason == "expired" else None
            if self._contract.judge(spoilt, now=now).code == code:
                return spoilt
        return None

    def _change(
        self, raw: bytes, headers: Mapping[str, Any] | None, reason: str, draws: Random
    ) -> WithHeaders | None:
        if reason == "malformed":
            return WithHeaders(raw[: draws.randrange(len(raw))], headers) if raw else None
        try:
            value = decode_json(raw)
        except UNREADABLE:
            value = raw.decode(errors="replace")
        declared = self._contract.declared
        kind = walk(value, declared.type.steps) if declared.type else None
        name = self._contract.looker.identify(kind, raw, headers)
        message = next((each for each in declared.messages if each.name == name), None)
        if message is None:
            return None
        if reason == "invalid":
            return _break_rule(WithHeaders(raw, headers), value, message, draws)
        place = declared.type if reason == "unknown-type" else declared.locations[message.name].expires
        replacement: Any = "no-such-type" if reason == "unknown-type" else timestamp(_LONG_AGO)
        if place is not None and place.part == "header" and headers is not None:
            return WithHeaders(raw, {**headers, place.steps[-1]: replacement})
        if place is None or place.part != "payload":
            return None
        return WithHeaders(msgspec.json.encode(put(value, place.steps, replacement)), headers)

    def grow(self, raw: bytes, size: int) -> bytes | None:
        """Put spaces behind JSON, which mean nothing there; None for other forms."""
        data, headers = read_headers(raw)
        try:
            decode_json(data)
        except UNREADABLE:
            return None
        return write_headers(data.ljust(size), headers)


def _break_rule(sent: WithHeaders, value: Any, message: Message, draws: Random) -> WithHeaders | None:
    """Break one rule of the schemas of a payload, which says ``value``, and of the headers beside it."""
    ways: list[Mutation] = []
    beside: list[Mutation] = []
    if message.content in ("json", "text"):
        is_json = message.content == "json"
        every = list_mutations(value, message.payload)
        ways = [each for each in every if is_json or isinstance(each.value, str)]
    if sent.headers is not None and message.headers is not None:
        every = list_mutations(dict(sent.headers), message.headers)
        beside = [each for each in every if each.steps or isinstance(each.value, dict)]
    if not ways and not beside:
        return None
    at = draws.randrange(len(ways) + len(beside))
    if at >= len(ways):
        return sent._replace(headers=beside[at - len(ways)].apply(dict(sent.headers or {})))
    broken = ways[at].apply(value)
    return sent._replace(data=broken.encode() if message.content == "text" else msgspec.json.encode(broken))
