"""A second contract, as unlike RDSS as can be: a message has no header, and no name for itself.

A message is a JSON object ``{"event": ..., "depot": ..., "weight": ...}``. What identifies it is the
partition key of its record. It comes in one piece, never expires, and is refused with one of three codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from emulator.rng import Chance, Draws
from schemas.contract import (
    Code,
    Content,
    Contract,
    Failures,
    Part,
    Peek,
    Sample,
    Undecorated,
    Verdict,
    Violation,
)
from schemas.fields import Field
from schemas.personal import NOWHERE, BodyForm


class ParcelPeek(msgspec.Struct, frozen=True, gc=False):
    """What a message and its record say of it."""

    message_id: str | None = None
    message_type: str | None = None
    error_code: str | None = None
    depot: str | None = None
    published: str | None = None
    expires: str | None = None
    damaged: bool = False

    @property
    def part(self) -> Part | None:
        """None: every message is whole."""
        return None


class _Parcel(msgspec.Struct):
    event: str | None = None
    depot: str | None = None
    refused: str | None = None


class _ParcelCode(Code):
    """A code with what it says."""


def _code(name: str, description: str, queue: str) -> Code:
    code = _ParcelCode(name)
    code.description, code.queue = description, queue
    return code


MAX_BYTES: Final = 2_000
CODES: Final[Mapping[str, Code]] = {
    name: _code(name, description, queue)
    for name, description, queue in (
        ("undeliverable", "The message is too large, or could not be handled.", "error"),
        ("unreadable", "The message is no JSON object.", "invalid"),
        ("no-event", "The message names no event.", "invalid"),
    )
}


def _spoil(whole: bytes, code: Code, draws: Draws) -> bytes:
    """Make a parcel bad, so that it has this code."""
    spoilt = {
        "undeliverable": whole + b" " * MAX_BYTES,
        "unreadable": whole[: draws.randrange(len(whole))],
        "no-event": whole.replace(b'"event"', b'"evens"'),
    }
    return spoilt[code]


class _NothingPersonal:
    marked: Final = False

    def form(self, _raw: bytes, _key: str = "", /) -> BodyForm:
        return BodyForm(NOWHERE, NOWHERE)


class _ParcelSamples:
    kinds: Final = ("left", "came")
    variants: Final = ()
    codes: Final = tuple(CODES.values())
    releases: Final = ()

    def from_seed(self, seed: int, *, now: float) -> _ParcelMaker:
        del now
        return _ParcelMaker(seed)


class _ParcelMaker:
    """Makes parcels ``p-1``, ``p-2`` and so on, no two alike; the seed draws their kinds and depots."""

    def __init__(self, seed: int) -> None:
        self._draws = Chance(seed).draws("parcels")
        self._made = 0

    def _sample(self, data: bytes) -> Sample:
        self._made += 1
        return Sample(data, f"p-{self._made}")

    def message(
        self, kind: str | None = None, *, variant: str | None = None, expires: float | None = None
    ) -> Sample:
        if expires is not None or variant is not None:
            raise ValueError("parcels do not expire, and have no variants")
        if kind not in (None, *_ParcelSamples.kinds):
            raise ValueError(f"no kind of parcels is {kind}; there are {', '.join(_ParcelSamples.kinds)}")
        event = kind or self._draws.choice(_ParcelSamples.kinds)
        depot = self._draws.choice(("Leith", "Oban", "Ayr"))
        return self._sample(msgspec.json.encode({"event": event, "depot": depot, "weight": self._made}))

    def stream(self, count: int) -> Iterator[Sample]:
        return (self.message(_ParcelSamples.kinds[at % 2]) for at in range(count))

    def big_message(self, parts: int, *, limit: int | None = None) -> Sample:
        raise ValueError("a parcel comes in one piece")

    def bad(self, code: Code) -> Sample:
        return Sample(_spoil(self.message().data, code, self._draws), f"p-{self._made}")

    def older(self, release: str) -> Sample:
        raise ValueError(f"parcels have no release {release}")


class _ParcelChanges:
    codes: Final = _ParcelSamples.codes

    def spoil(self, raw: bytes, code: Code, draws: Draws) -> bytes | None:
        try:
            msgspec.json.decode(raw, type=_Parcel)
        except msgspec.MsgspecError:
            return None
        return _spoil(raw, code, draws)

    def grow(self, raw: bytes, size: int) -> bytes | None:
        return raw.ljust(size)


class Parcels:
    """The contract."""

    name: Final = "parcels"
    release: Final = "1"
    media_type: Final = "application/json"
    max_bytes: Final = MAX_BYTES
    rejects: Final = True
    by_digest: Final = None
    headers: Final = None
    codes: Final = CODES
    failures: Final = Failures(*(CODES["undeliverable"],) * 5)
    expired: Final = None
    oversize: Final = CODES["undeliverable"]
    fields: Final = (
        Field("id", "message_id", "key", "identifier", "message_id", "id:*7"),
        Field(
            "type",
            "message_type",
            "event",
            "text",
            "message_type",
            "type:left",
            _ParcelSamples.kinds,
            counted=True,
        ),
        Field("code", "code", "refused", "text", "error_code", "code:no*", tuple(CODES), counted=True),
        Field(
            "depot", "depot", "depot", "text", "depot", "depot:Leith", counted=True, listed=True, summed=True
        ),
    )
    envelope: Final = None
    stamp: Final = None
    sequences: Final = None
    versions: Final = None
    objects: Final = None
    documents: Final = None
    contents: Final[Mapping[str, Content]] = {}
    samples: Final = _ParcelSamples()
    changes: Final = _ParcelChanges()
    personal: Final = _NothingPersonal()

    @property
    def without_headers(self) -> Parcels:
        return self

    def peek(self, raw: bytes, key: str = "", /) -> ParcelPeek:
        try:
            read = msgspec.json.decode(raw, type=_Parcel)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return ParcelPeek(key or None, damaged=True)
        return ParcelPeek(key or None, read.event, read.refused, read.depot)

    def identity(self, seen: Peek) -> str | None:
        return seen.message_id

    def body(self, raw: bytes, /) -> bytes:
        return raw

    def judge(self, raw: bytes, *, now: float | None = None) -> Verdict:
        del now
        seen = self.peek(raw)
        if len(raw) > self.max_bytes:
            return _refuse(self.codes["undeliverable"], "size")
        if seen.damaged:
            return _refuse(self.codes["unreadable"], "json")
        return Verdict(True, None, ()) if seen.message_type else _refuse(self.codes["no-event"], "required")

    def decorate(
        self,
        raw: bytes,
        code: Code,
        description: str,
        *,
        now: float,
        original: str | None = None,
        **_: Any,
    ) -> bytes:
        del now
        if original is not None:
            parcel = {"original": original}
        elif self.peek(raw).damaged:
            parcel = {"raw": raw.decode("latin-1")}
        else:
            parcel = msgspec.json.decode(raw)
        return msgspec.json.encode({**parcel, "refused": str(code), "why": description})

    def undecorate(self, raw: bytes, /) -> Undecorated:
        parcel = {} if self.peek(raw).damaged else msgspec.json.decode(raw)
        wrapped = parcel.get("raw")
        return Undecorated(raw if wrapped is None else wrapped.encode("latin-1"), parcel.get("why"))

    def redrive(self, raw: bytes, /, *, now: float) -> bytes:
        del now
        if self.peek(raw).damaged:
            return raw
        parcel = msgspec.json.decode(raw)
        return msgspec.json.encode({name: parcel[name] for name in parcel if name not in ("refused", "why")})


def _refuse(code: Code, rule: str) -> Verdict:
    return Verdict(False, code, (Violation("", rule, code.description),))


PARCELS: Final[Contract] = Parcels()
