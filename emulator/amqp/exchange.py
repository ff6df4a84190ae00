"""Exchanges and their bindings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from emulator.amqp.refusals import RefusedError
from emulator.amqp.routing import check_match_arguments, matches_headers
from emulator.amqp.topic_patterns import TopicPatterns
from emulator.amqp.turn import ITEMS_OF_A_STEP
from emulator.amqp.wire.field_tables import Table, encode_table

TYPES: Final = ("direct", "fanout", "topic", "headers", "x-local-random")
QUEUE: Final = "queue"
EXCHANGE: Final = "exchange"


BindingKey: TypeAlias = tuple["Destination", str, bytes]


class Destination(NamedTuple):
    """What a binding leads to: ``kind`` is ``queue`` or ``exchange``."""

    kind: str
    name: str


class Binding(NamedTuple):
    """A binding of an exchange; its ``arguments`` matter to the type headers only."""

    destination: Destination
    routing_key: str
    arguments: Table

    @property
    def key(self) -> BindingKey:
        """What makes it another binding."""
        # The same arguments in another order are the same binding.
        return self.destination, self.routing_key, encode_table(dict(sorted(self.arguments.items())))


@dataclass(slots=True, eq=False)
class Exchange:
    """An exchange. ``bindings`` are those of which it is the source."""

    name: str
    type: str
    durable: bool = True
    auto_delete: bool = False
    internal: bool = False
    arguments: Table = field(default_factory=dict)
    bindings: dict[BindingKey, Binding] = field(default_factory=dict)
    _by_key: dict[str, dict[Destination, int]] = field(default_factory=dict)
    _patterns: TopicPatterns[Destination] = field(default_factory=TopicPatterns)
    _all: tuple[Destination, ...] | None = None
    _turns: int = 0

    @property
    def alternate(self) -> str | None:
        """The exchange that takes what this one cannot route."""
        found = self.arguments.get("alternate-exchange")
        return found.value.decode("utf-8", "surrogateescape") if found else None

    def check(self, binding: Binding) -> None:
        """Check that this type of exchange takes such a binding. Raises RefusedError 406."""
        if self.type == "headers":
            check_match_arguments(binding.arguments)
        elif self.type == "x-local-random":
            if binding.routing_key:
                raise RefusedError(406, f"Non empty binding '{binding.routing_key}' key not permitted")
            if binding.destination.kind != QUEUE:
                raise RefusedError(406, "Destination not found")

    def bind(self, binding: Binding) -> bool:
        """Add a binding; return False when it exists."""
        key = binding.key
        if key in self.bindings:
            return False
        self.bindings[key] = binding
        self._all = None
        if self.type == "topic":
            self._patterns.add(binding.routing_key, binding.destination)
        else:
            # Counted, for bindings that differ in nothing but their arguments lead to one end.
            ends = self._by_key.setdefault(binding.routing_key, {})
            ends[binding.destination] = ends.get(binding.destination, 0) + 1
        return True

    def unbind(self, binding: Binding) -> bool:
        """Remove a binding; return False when there is none."""
        if self.bindings.pop(binding.key, None) is None:
            return False
        self._all = None
        if self.type == "topic":
            self._patterns.remove(binding.routing_key, binding.destination)
            return True
        ends = self._by_key[binding.routing_key]
        ends[binding.destination] -= 1
        if not ends[binding.destination]:
            del ends[binding.destination]
        if not ends:
            del self._by_key[binding.routing_key]
        return True

    def match(self, keys: Iterable[str], headers: Table) -> Iterator[Destination | None]:
        """Yield the destinations of a message with these routing keys; one may come more than once.

        None comes where a turn may end. Bindings may change meanwhile.
        """
        if self.type == "headers":
            for number, each in enumerate(tuple(self.bindings.values()), 1):
                if matches_headers(each.arguments, headers):
                    yield each.destination
                if not number % ITEMS_OF_A_STEP:
                    yield None
        elif self.type == "fanout":
            yield from _in_steps(self._find_all())
        elif self.type == "x-local-random":
            yield from self._take_turns(self._find_all())
        elif self.type == "topic":
            for key in keys:
                yield from self._patterns.match(key)
        else:
            for key in keys:
                yield from _in_steps(tuple(self._by_key.get(key, ())))

    def _take_turns(self, found: tuple[Destination, ...]) -> tuple[Destination, ...]:
        """One of them: RabbitMQ draws it, here each has its turn, so that a run is the same again."""
        self._turns += 1
        return (found[self._turns % len(found)],) if found else ()

    def _find_all(self) -> tuple[Destination, ...]:
        """The destinations of all bindings, each once."""
        if self._all is None:
            self._all = tuple(dict.fromkeys(each.destination for each in self.bindings.values()))
        return self._all


def _in_steps(found: tuple[Destination, ...]) -> Iterator[Destination | None]:
    for number, each in enumerate(found, 1):
        yield each
        if not number % ITEMS_OF_A_STEP:
            yield None
