"""The verdict on a message: its size, its form, its type, its schema, its headers and its expiry."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from schemas.asyncapi.around import is_around, read_headers
from schemas.asyncapi.declarations import Declared, Location
from schemas.asyncapi.message_payloads import UNREADABLE, Payload, decode_json, read_each
from schemas.asyncapi.peek import Looker, walk
from schemas.asyncapi.problems import write_pointer
from schemas.brief import show
from schemas.contract import MOST_FOUND, Verdict, Violation
from schemas.message_timestamps import instant

_VALID: Final = Verdict(True, None, ())
_Read = tuple[Payload | None, Any, Verdict | None]


class DeclaredJudge:
    """Judges messages by a document; see ``schemas.contract.Judge``."""

    def __init__(self, declared: Declared, payloads: Mapping[str, Payload], looker: Looker) -> None:
        self._declared = declared
        self._payloads = payloads
        self._looker = looker
        self._max_bytes = declared.max_bytes
        self._type = declared.type
        self._sole = next(iter(payloads.values())) if len(payloads) == 1 else None
        self._names_type = declared.type is not None and declared.type.part == "payload"
        self._steps = declared.type.steps if declared.type else ()
        self._by_kind = {
            value: payloads[each.name]
            for each in (declared.messages if self._names_type else ())
            for value in each.values
            if all(payload.is_json for payload in payloads.values())
        }
        self._expires = {name: each.expires for name, each in declared.locations.items() if each.expires}

    def __call__(self, raw: bytes, *, now: float | None = None) -> Verdict:
        raw, headers = read_headers(raw) if is_around(raw) else (raw, None)
        if len(raw) > self._max_bytes:
            why = f"{len(raw):,} bytes, and a message may have {self._max_bytes:,}"
            return self._refuse("oversize", "size", why)
        payload, value, settled = self._read(raw, headers)
        if payload is None:
            return settled or self._refuse("malformed", "form", "the bytes have the form of no message")
        accepted = settled is _VALID or payload.accepts(value)
        if not accepted or (headers is not None and self._wrong_headers(payload, headers)):
            every = (*payload.find_violations(value), *self._wrong_headers(payload, headers))
            found = tuple(dict.fromkeys(every))  # two schemas that hold together may ask for the same
            nothing = (Violation("", "schema", "does not meet its schema"),)
            return Verdict(False, self._declared.codes["invalid"], found[:MOST_FOUND] or nothing)
        place = self._expires.get(payload.message.name)
        if place is not None and now is not None:
            return self._judge_expiry(place, value, now, headers)
        return _VALID

    @staticmethod
    def _wrong_headers(payload: Payload, headers: Mapping[str, Any] | None) -> list[Violation]:
        return [] if headers is None else list(islice(payload.find_header_violations(headers), MOST_FOUND))

    def _refuse(self, reason: str, rule: str, why: str, path: str = "") -> Verdict:
        return Verdict(False, self._declared.codes[reason], (Violation(path, rule, why),))

    def _read(self, raw: bytes, headers: Mapping[str, Any] | None) -> _Read:
        """The message that the bytes are and the value that they say; the verdict, where that settles it."""
        if self._sole is None and not self._by_kind:
            return self._read_any(raw, headers)
        try:
            value = self._sole.decode(raw) if self._sole else decode_json(raw)
        except UNREADABLE as error:
            return None, None, self._refuse("malformed", "form", _first_line(error))
        if self._sole is not None:
            return self._sole, value, None
        kind = walk(value, self._steps)
        named = self._by_kind.get(kind) if isinstance(kind, str) else None
        return (named, value, None) if named else (None, None, self._refuse_type(kind, None))

    def _read_any(self, raw: bytes, headers: Mapping[str, Any] | None) -> _Read:
        """Try the forms of all messages; where none fits, the one that the bytes break least."""
        if self._type is None and (fitting := self._looker.find_fitting(raw)):
            return (*fitting, _VALID)
        found = list(read_each(self._payloads.values(), raw))
        if not found:
            return None, None, None
        if self._type is None:
            return (*_find_nearest(found), None)
        kind = walk(found[0][1], self._steps) if self._names_type else None
        name = self._looker.identify(kind, raw, headers)
        if name is None and (self._names_type or headers is not None):
            return None, None, self._refuse_type(kind, headers)
        named = next((each for each in found if each[0].message.name == name), None)
        return (*(named or _find_nearest(found)), None)

    def _refuse_type(self, kind: Any, headers: Mapping[str, Any] | None) -> Verdict:
        assert self._type is not None
        if self._type.part == "header":
            kind = walk(headers, self._type.steps)
        path = write_pointer(self._type.steps) if self._type.part == "payload" else str(self._type)
        why = f"{show(kind)} is the type of no message" if kind is not None else "names no type of a message"
        return self._refuse("unknown-type", "type", why, path)

    def _judge_expiry(
        self, place: Location, value: Any, now: float, headers: Mapping[str, Any] | None
    ) -> Verdict:
        text = walk(value, place.steps) if place.part == "payload" else walk(headers, place.steps)
        until = instant(text) if isinstance(text, str) else None
        if until is None or until >= now:
            return _VALID
        path = write_pointer(place.steps) if place.part == "payload" else str(place)
        return self._refuse("expired", "expired", f"{show(text)} has passed", path)


def _find_nearest(found: list[tuple[Payload, Any]]) -> tuple[Payload, Any]:
    """The message whose schema the value breaks least."""
    return min(found, key=lambda each: sum(1 for _ in each[0].find_violations(each[1])))


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300] or type(error).__name__
