"""A fast look at the fields of a message whose places a document declares; it never fails."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec.structs import force_setattr

from schemas.asyncapi.around import AROUND, is_around, read_headers
from schemas.asyncapi.declarations import Declared, Location, Locations
from schemas.asyncapi.decoration import unwrap
from schemas.asyncapi.message_payloads import UNREADABLE, Fitting, Payload, read_each
from schemas.asyncapi.quick_reading import LEAF, NOTHING, NUMBER, TEXT, WHOLE, make_reader, make_struct
from schemas.contract import LOOKED_AT, Part

_PLACES: Final = {
    "message_id": "id",
    "message_type": "type",
    "source": "source",
    "order_key": "order_key",
    "published": "published",
    "expires": "expires",
    "sequence": "sequence",
    "position": "position",
    "total": "total",
}
"""The fields of what is seen, and the names of the locations from which they are read."""
_NUMBERS: Final = ("position", "total")
_Headers = Mapping[str, Any] | None


def walk(value: Any, steps: tuple[str, ...]) -> Any:
    """What is under these names; None where there is nothing."""
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _part(text: Any) -> Part | None:
    if text.sequence is None or text.position is None or (text.total or 0) <= 1:
        return None
    return Part(text.sequence, text.position, text.total)


class Looker:
    """Reads what a message says of itself."""

    def __init__(
        self,
        declared: Declared,
        payloads: Mapping[str, Payload],
        labels: Mapping[str, Location],
        *,
        numbers: Collection[str],
        plain: Collection[str],
        later: Collection[str],
    ) -> None:
        """``numbers`` are labels; so are the ``plain`` ones, whose type is the same in all messages.

        Those that are seldom asked for may be read ``later``.
        """
        self._type = declared.type
        self._payloads = payloads
        self.find_fitting: Final = Fitting(payloads.values())
        self._labels, self._numbers = labels, numbers
        self._names: Final = (*_PLACES, *labels)
        self._sole = next(iter(payloads)) if len(payloads) == 1 else None
        self._kinds = {value: each.name for each in declared.messages for value in each.values}
        self._kind = {each.name: (each.values or (each.name,))[0] for each in declared.messages}
        self._unwritten = self._type is None or self._type.part == "header"
        self._fields: Any = msgspec.defstruct(
            "Peek",
            [
                *((name, LEAF, None) for name in self._names),
                ("error_code", str | None, None),
                ("damaged", bool, False),
            ],
            namespace={"part": property(_part)},
            frozen=True,
            gc=False,
        )
        self._plans: dict[str | None, dict[str, Location]] = {
            name: self._plan(locations) for name, locations in declared.locations.items()
        }
        self._plans[None] = self._plans[next(iter(payloads))]
        places = {
            place.steps: LEAF
            for plan in self._plans.values()
            for place in plan.values()
            if place.part == "payload"
        }
        known = {labels[name].steps: NUMBER if name in numbers else TEXT for name in plain}
        tree, attributes = make_struct(places | known)
        only_json = all(each.is_json for each in payloads.values())
        self._decode: Callable[[bytes], Any] | None = msgspec.json.Decoder(tree).decode if only_json else None
        self._read: Callable[[bytes], Any] | None = None
        self._apart = bool(self._type and self._type.steps and self._type.steps[0] not in AROUND)
        """Whether what is around a message has no type where messages have theirs."""
        if only_json and self._lie_alike():
            kind = self._kind[self._sole] if self._sole and self._type is None else None
            types = {"position": WHOLE, "total": WHOLE, **dict.fromkeys(labels, LEAF)}
            types |= {name: NUMBER if name in numbers else TEXT for name in plain}
            steps = {name: place.steps for name, place in self._plans[None].items()}
            self._read = make_reader(
                {name: (steps.get(name), types.get(name, TEXT)) for name in self._names if name not in later},
                {"message_type": kind, "part": property(_part), "error_code": None, "damaged": False},
                {name: self._plain for name in labels if name not in {*plain, *later}},
                {name: partial(self._read_later, name) for name in later},
            )
        self._getters = {
            name: attrgetter(*(self._attribute(plan.get(each), attributes) for each in self._names))
            for name, plan in self._plans.items()
        }
        self._type_of = attrgetter(self._attribute(self._type, attributes))
        self._unsure = {
            name: [at for at, each in enumerate(self._names) if each in plan and each not in plain]
            for name, plan in self._plans.items()
        }
        self._beside = {
            name: [
                (at, place)
                for at, each in enumerate(self._names)
                if (place := plan.get(each)) and place.part != "payload"
            ]
            for name, plan in self._plans.items()
        }

    def _lie_alike(self) -> bool:
        """Whether all messages have their fields at the same places, all of them in the payload."""
        plan = self._plans[None]
        is_typed = self._type is not None or self._sole is not None
        return (
            is_typed
            and all(each == plan for each in self._plans.values())
            and all(place.part == "payload" for place in plan.values())
        )

    @lru_cache(maxsize=1)  # noqa: B019 -- a contract lives as long as its process
    def _read_all(self, raw: bytes) -> Any:
        return self._look(raw, None, "")

    def _read_later(self, name: str, raw: bytes) -> Any:
        return getattr(self._read_all(raw), name)

    def _plan(self, locations: Locations) -> dict[str, Location]:
        places = {ours: getattr(locations, theirs) for ours, theirs in _PLACES.items()}
        places["message_type"] = self._type
        return {**{name: place for name, place in places.items() if place}, **self._labels}

    @staticmethod
    def _attribute(place: Location | None, attributes: Mapping[tuple[str, ...], str]) -> str:
        return attributes.get(place.steps, NOTHING) if place and place.part == "payload" else NOTHING

    def __call__(self, raw: bytes, key: str = "", /) -> Any:
        """See ``schemas.contract.Contract.peek``."""
        if self._read is not None and (self._apart or not is_around(raw)):
            try:
                fields = self._read(raw)
            except UNREADABLE:
                pass
            else:
                if fields.message_type is not None or not is_around(raw):
                    force_setattr(fields, NOTHING, raw)
                    return fields
        if not is_around(raw):
            return self._look(raw, None, key)
        rejected = unwrap(raw)
        if rejected is None:
            return self._look(*read_headers(raw), key)
        data, headers = read_headers(rejected.data)
        fields = self._fields() if rejected.address else self._look_slowly(data, key, headers)
        return msgspec.structs.replace(fields, error_code=rejected.code)

    def _look(self, raw: bytes, headers: _Headers, key: str) -> Any:
        if self._decode is not None:
            try:
                read = self._decode(raw)
            except UNREADABLE:
                pass
            else:
                name = self.identify(self._type_of(read), raw, headers)
                values = list(self._getters[name](read))
                for at in self._unsure[name]:
                    value = values[at]
                    if value is not None and type(value) is not str:
                        values[at] = self._plain(self._names[at], value)
                if self._beside[name] or values[1] is None:
                    return self._make(name, values, raw, key, headers)
                return self._fields(*values)
        return self._look_slowly(raw, key, headers)

    def identify(self, kind: Any, raw: bytes, headers: _Headers) -> str | None:
        """The message that says this of its type, or that its schema shows it to be; else None."""
        if self._sole is not None:
            return self._sole
        place = self._type
        if place is not None and place.part == "header" and headers is not None:
            kind = walk(headers, place.steps)
        if kind is not None or (place is not None and (place.part == "payload" or headers is not None)):
            return self._kinds.get(kind) if isinstance(kind, str) else None
        fitting = self.find_fitting(raw)
        return fitting[0].message.name if fitting else None

    def _make(
        self,
        name: str | None,
        values: list[Any],
        raw: bytes,
        key: str,
        headers: _Headers,
        *,
        damaged: bool = False,
    ) -> Any:
        for at, place in self._beside[name]:
            found = _read_beside(place, raw, key, headers)
            values[at] = None if found in (None, "") else self._plain(self._names[at], found)
        if values[1] is None and self._unwritten:
            values[1] = self._kind.get(name or "")
        return self._fields(*values, damaged=damaged) if damaged else self._fields(*values)

    def _plain(self, name: str, value: Any) -> str | float | bool | None:
        """A value as the field has it; None for one that it cannot have."""
        if value is None:
            return None
        if name in _NUMBERS:
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        if isinstance(value, bool):
            return "true" if value else "false"
        if name in self._numbers:
            return value if isinstance(value, int | float) else None
        if isinstance(value, str):
            return value
        return None if isinstance(value, dict | list | bytes) else str(value)

    def _look_slowly(self, raw: bytes, key: str, headers: _Headers) -> Any:
        """Read values that have the right type; in bytes that have no form, search for texts."""
        for _, value in read_each(self._payloads.values(), raw):
            kind = walk(value, self._type.steps) if self._type else None
            name = self.identify(kind, raw, headers)
            plan = self._plans[name]
            values = [
                self._plain(each, walk(value, plan[each].steps)) if each in plan else None
                for each in self._names
            ]
            return self._make(name, values, raw, key, headers)
        plan = self._plans[None]
        texts = [_search(raw, plan[each].steps) if each in plan else None for each in self._names]
        return self._make(self._sole, texts, raw, key, headers, damaged=True)


def _read_beside(place: Location, raw: bytes, key: str, headers: _Headers) -> Any:
    """What is at a place that is not in the payload."""
    if place.part == "bytes":
        return hashlib.sha256(raw).hexdigest()
    return key if place.part == "key" else walk(headers, place.steps)


def _search(raw: bytes, steps: tuple[str, ...]) -> str | None:
    if not steps:
        return None
    pattern = rb'"%s"\s*:\s*"([^"\\]{1,200})"' % re.escape(steps[-1].encode(errors="replace"))
    found = re.search(pattern, raw[:LOOKED_AT])
    return found[1].decode(errors="replace") if found else None
