"""The verdict on a message: its size, its form, its type, its schema, its headers and its expiry."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from schemas.asyncapi.declarations import Declared, Location
from schemas.asyncapi.payloads import UNREADABLE, Payload
from schemas.asyncapi.peek import Looker, walk
from schemas.asyncapi.problems import write_pointer
from schemas.contract import MOST_FOUND, Verdict, Violation
from schemas.rdss.brief import show
from schemas.rdss.formats import instant

_VALID: Final = Verdict(True, None, ())


class DeclaredJudge:
    """Judges messages by a document; see ``schemas.contract.Judge``."""

    def __init__(self, declared: Declared, payloads: Mapping[str, Payload], looker: Looker) -> None:
        self._declared = declared
        self._payloads = payloads
        self._looker = looker
        self._max_bytes = declared.max_bytes
        self._type = declared.type
        self._sole = next(iter(payloads.values())) if len(payloads) == 1 else None
        self._expires = {name: each.expires for name, each in declared.locations.items() if each.expires}

    def __call__(
        self, raw: bytes, *, now: float | None = None, headers: Mapping[str, Any] | None = None
    ) -> Verdict:
        """``headers`` are those of a transport that has them; None leaves them out of the verdict."""
        if len(raw) > self._max_bytes:
            why = f"{len(raw):,} bytes, and a message may have {self._max_bytes:,}"
            return self._refuse("oversize", "size", why)
        payload, value, refusal = self._read(raw, headers)
        if payload is None:
            return refusal or self._refuse("malformed", "form", "the bytes have the form of no message")
        if not self._accepts(payload, value) or (
            headers is not None and self._wrong_headers(payload, headers)
        ):
            found = [*payload.find_violations(value), *self._wrong_headers(payload, headers)]
            nothing = [Violation("", "schema", "does not meet its schema")]
            return Verdict(False, self._declared.codes["invalid"], tuple(found[:MOST_FOUND] or nothing))
        place = self._expires.get(payload.message.name)
        if place is not None and now is not None:
            return self._judge_expiry(place, value, now, headers)
        return _VALID

    @staticmethod
    def _accepts(payload: Payload, value: Any) -> bool:
        try:
            return payload.accepts(value)
        except ValueError:  # half a surrogate pair, or nesting that no schema has
            return False

    @staticmethod
    def _wrong_headers(payload: Payload, headers: Mapping[str, Any] | None) -> list[Violation]:
        return [] if headers is None else list(islice(payload.find_header_violations(headers), MOST_FOUND))

    def _refuse(self, reason: str, rule: str, why: str, path: str = "") -> Verdict:
        return Verdict(False, self._declared.codes[reason], (Violation(path, rule, why),))

    def _read(
        self, raw: bytes, headers: Mapping[str, Any] | None
    ) -> tuple[Payload | None, Any, Verdict | None]:
        """The message that the bytes are and the value that they say; else the verdict on them."""
        if self._sole is not None:
            try:
                return self._sole, self._sole.decode(raw), None
            except UNREADABLE as error:
                return None, None, self._refuse("malformed", "form", _first_line(error))
        failure: Verdict | None = None
        best: tuple[Payload, Any] | None = None
        fewest = MOST_FOUND + 1
        for payload in self._payloads.values():
            try:
                value = payload.decode(raw)
            except UNREADABLE as error:
                failure = failure or self._refuse("malformed", "form", _first_line(error))
                continue
            kind = walk(value, self._type.steps) if self._type and self._type.part == "payload" else None
            name = self._looker.identify(kind, raw, headers)
            if name is not None:
                named = self._payloads[name]
                if named is payload or (named.is_json and payload.is_json):
                    return named, value, None
                continue
            if self._type is not None and (self._type.part == "payload" or headers is not None):
                return None, None, self._refuse_type(kind, headers)
            flaws = sum(1 for _ in payload.find_violations(value))
            if flaws < fewest:
                best, fewest = (payload, value), flaws
        return (*best, None) if best else (None, None, failure)

    def _refuse_type(self, kind: Any, headers: Mapping[str, Any] | None) -> Verdict:
        assert self._type is not None
        if self._type.part == "header":
            kind = (headers or {}).get(self._type.steps[-1])
        path = write_pointer(self._type.steps) if self._type.part == "payload" else str(self._type)
        why = f"{show(kind)} is the type of no message" if kind is not None else "names no type of a message"
        return self._refuse("unknown-type", "type", why, path)

    def _judge_expiry(
        self, place: Location, value: Any, now: float, headers: Mapping[str, Any] | None
    ) -> Verdict:
        text = walk(value, place.steps) if place.part == "payload" else (headers or {}).get(place.steps[-1])
        until = instant(text) if isinstance(text, str) else None
        if until is None or until >= now:
            return _VALID
        path = write_pointer(place.steps) if place.part == "payload" else str(place)
        return self._refuse("expired", "expired", f"{show(text)} has passed", path)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300] or type(error).__name__
