"""Messages of a document from a seed: its own examples first, then what its schemas accept; and bad ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import cycle, islice
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

import msgspec

from schemas.asyncapi import avro
from schemas.asyncapi.around import write_headers
from schemas.asyncapi.changes import DeclaredChanges
from schemas.asyncapi.declarations import Declared, Location, Message, Part
from schemas.asyncapi.json_schemas import hold_both, list_properties
from schemas.asyncapi.mutations import put
from schemas.asyncapi.peek import walk
from schemas.asyncapi.sample_avro import draw_avro
from schemas.asyncapi.sample_texts import CannotDrawError, draw_words
from schemas.asyncapi.sample_values import ValueMaker
from schemas.contract import Code, Sample
from schemas.message_timestamps import timestamp

if TYPE_CHECKING:
    from schemas.asyncapi.declared_contract import DeclaredContract

_Makers: TypeAlias = dict[tuple[str, Part], ValueMaker]
"""What draws the payload and the headers of a message, by its name."""
_TRIES: Final = 60
_LONG_LIFE: Final = 86_400.0
_OPTIONAL: Final = ("datacontenttype", "dataschema", "subject", "time")
"""What an event may have: one has it where its own schema names it."""
_LATEST: Final = 250_000_000_000


class DeclaredSamples:
    """What there is; see ``schemas.contract.Samples``. ``undrawn`` says why other kinds cannot be made."""

    variants: Final = ()
    releases: Final = ()

    def __init__(self, contract: DeclaredContract) -> None:
        self._contract = contract
        self._makers: _Makers = {}
        self.undrawn: dict[str, str] = {}
        self._kinds: list[str] = []
        for message in contract.declared.messages:
            try:
                if message.content in ("json", "text"):
                    self._makers[message.name, "payload"] = ValueMaker(
                        True if message.payload is None else message.payload
                    )
                if contract.headers is not None:
                    headers = hold_both(message.headers or True, {"type": "object"})
                    self._makers[message.name, "header"] = ValueMaker(headers)
                kinds = message.values or (message.name,)
                trial = DeclaredSampleMaker(contract, self._makers, kinds, seed=0, now=0.0)
                for kind in kinds:
                    trial.message(kind)
                self._kinds += kinds
            except CannotDrawError as error:
                self.undrawn[message.name] = str(error)
        self.kinds: Final = tuple(self._kinds)
        changes = DeclaredChanges(contract)
        trial = DeclaredSampleMaker(contract, self._makers, self.kinds, seed=0, now=0.0)
        self.codes: Final[tuple[Code, ...]] = tuple(
            code for code in changes.codes if self.kinds and _can_be_made(trial, code)
        )

    def from_seed(self, seed: int, *, now: float) -> DeclaredSampleMaker:
        if not 0 <= now < _LATEST:
            raise ValueError("messages are made at times between the years 1970 and 9890")
        return DeclaredSampleMaker(self._contract, self._makers, self.kinds, seed=seed, now=now)


def _write_unseen(number: int) -> bytes:
    """A number in spaces and tabulators."""
    return f"{number:b}".encode().translate(bytes.maketrans(b"01", b" \t"))


def _can_be_made(maker: DeclaredSampleMaker, code: Code) -> bool:
    try:
        maker.bad(code)
    except ValueError:
        return False
    return True


class DeclaredSampleMaker:
    """Makes messages from a seed; see ``schemas.contract.SampleMaker``."""

    def __init__(
        self,
        contract: DeclaredContract,
        makers: _Makers,
        kinds: tuple[str, ...],
        *,
        seed: int,
        now: float,
    ) -> None:
        self._contract = contract
        self._declared: Declared = contract.declared
        self._makers = makers
        self._kinds = kinds
        self._named = {
            value: each for each in self._declared.messages for value in (each.values or (each.name,))
        }
        self._draws = Random(seed)
        self._now = now
        self._made = 0
        self._taken: set[str] = set()
        self._given: Counter[str] = Counter()
        self._parts = ("payload", "header") if contract.headers else ("payload",)

    def message(
        self, kind: str | None = None, *, variant: str | None = None, expires: float | None = None
    ) -> Sample:
        if variant is not None:
            raise ValueError("messages of this contract have no variants")
        kinds = self._kinds if expires is None else tuple(filter(self._expires, self._kinds))
        kind = self._draws.choice(kinds) if kind is None and kinds else kind
        if kind not in self._kinds:
            raise ValueError(f"no kind of messages is {kind}; there are {', '.join(self._kinds)}")
        if kind not in kinds:
            raise ValueError(f"a {kind} does not expire")
        message = self._named[kind]
        self._made += 1
        for _ in range(_TRIES):
            data = self._try(message, kind, expires)
            peek = self._contract.looker(data)
            known = self._contract.identity(peek) if self._contract.identified else None
            if known in self._taken and self._is_known_by_bytes(message):
                peek = self._contract.looker(data := data + _write_unseen(self._made))
                known = self._contract.identity(peek)
            is_usable = (
                expires is None or expires < self._now or self._contract.judge(data, now=expires).valid
            )
            if is_usable and known not in self._taken and self._contract.judge(data).valid:
                if known is not None:
                    self._taken.add(known)
                key = peek.message_id or peek.order_key or f"{kind}-{self._made}"
                return Sample(data, str(key))
        raise CannotDrawError(f"no {kind} was found that its schema accepts and that is unlike the others")

    def _expires(self, kind: str) -> bool:
        place = self._declared.locations[self._named[kind].name].expires
        return place is not None and place.part in self._parts

    def _is_known_by_bytes(self, message: Message) -> bool:
        """Whether spaces behind a message, which mean nothing there, make it another one."""
        place = self._declared.locations[message.name].id
        return message.content == "json" and place is not None and place.part == "bytes"

    def _try(self, message: Message, kind: str, expires: float | None) -> bytes:
        """A message of an example that was not given yet, or of values that were drawn."""
        at = self._given[kind]
        self._given[kind] += 1
        examples = [each for each in message.examples if "payload" in each]
        example = examples[at] if at < len(examples) else {}
        data = self._write_payload(message, kind, expires, example)
        if self._contract.headers is None:
            return data
        drawn = self._makers[message.name, "header"].draw(self._draws)
        headers = self._settle(message, example.get("headers", drawn), kind, expires, "header")
        return self._give_id(message, "header", headers, drawn, partial(write_headers, data))

    def _write_payload(
        self, message: Message, kind: str, expires: float | None, example: Mapping[str, Any]
    ) -> bytes:
        if message.content == "opaque":
            given = example.get("payload", f"{draw_words(self._draws, 1, None)} {self._made}")
            return given.encode() if isinstance(given, str) else msgspec.json.encode(given)
        if message.content.startswith("avro"):
            write = avro.make_encoder(message.payload, as_json=message.content == "avro-json")
            return write(self._settle(message, draw_avro(self._draws, message.payload), kind, expires))
        drawn = self._makers[message.name, "payload"].draw(self._draws)
        if message.cloud_event == "structured":
            own = list_properties(message.payload["allOf"][0], message.payload)
            drawn = {name: below for name, below in drawn.items() if name in own or name not in _OPTIONAL}
        value = example.get("payload", drawn)
        if message.content == "text":
            return str(value).encode()
        value = self._settle(message, value, kind, expires)
        return self._give_id(message, "payload", value, drawn, msgspec.json.encode)

    def _give_id(
        self, message: Message, part: Part, value: Any, drawn: Any, write: Callable[[Any], bytes]
    ) -> bytes:
        """Write a value, with an id of its own where it has one."""
        place = self._declared.locations[message.name].id
        if place is not None and place.part == part:
            uuid = str(UUID(int=self._draws.getrandbits(128), version=4))
            for new in (uuid, self._draws.getrandbits(31), walk(drawn, place.steps)):
                named = write(value if new is None else put(value, place.steps, new))
                if self._contract.judge(named).valid:
                    return named
        return write(value)

    def _settle(
        self, message: Message, value: Any, kind: str, expires: float | None, part: Part = "payload"
    ) -> Any:
        """Put what the time, the kind and the place of a whole message are into a value that has them."""
        places = self._declared.locations[message.name]
        settled: list[tuple[Location | None, Any]] = [
            (places.published, timestamp(self._now + self._made / 1000)),
            (places.expires, timestamp(self._now + _LONG_LIFE if expires is None else expires)),
            (places.position, 1),
            (places.total, 1),
            (self._declared.type, kind if message.values else None),
        ]
        for place, constant in settled:
            if place is None or place.part != part or constant is None:
                continue
            asked = place == self._declared.type or (place == places.expires and expires is not None)
            if asked or isinstance(walk(value, place.steps), type(constant)):
                value = put(value, place.steps, constant)
        return value

    def stream(self, count: int) -> Iterator[Sample]:
        return (self.message(kind) for kind in islice(cycle(self._kinds), count))

    def big_message(self, parts: int, *, limit: int | None = None) -> Sample:
        del parts, limit
        raise ValueError("a message of this contract comes in one piece")

    def bad(self, code: Code) -> Sample:
        if code == self._contract.expired:
            return self.message(expires=self._now - _LONG_LIFE)
        changes = DeclaredChanges(self._contract)
        for _ in range(_TRIES):
            sample = self.message()
            data = changes.spoil(sample.data, code, self._draws)
            if data is not None:
                return Sample(data, sample.key)
        raise ValueError(f"no message alone can cause {code}")

    def older(self, release: str) -> Sample:
        raise ValueError(f"the contract has no release {release} but its own")
