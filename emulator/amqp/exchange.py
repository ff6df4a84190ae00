"""Exchanges and their bindings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from emulator.amqp.routing import matches_headers, matches_topic
from emulator.amqp.wire.field_tables import Table, encode_table

TYPES: Final = ("direct", "fanout", "topic", "headers", "x-local-random")
QUEUE: Final = "queue"
EXCHANGE: Final = "exchange"


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
    def key(self) -> tuple[Destination, str, bytes]:
        """What makes it another binding."""
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
    bindings: dict[tuple[Destination, str, bytes], Binding] = field(default_factory=dict)
    _by_key: dict[str, dict[Destination, int]] = field(default_factory=dict)

    @property
    def alternate(self) -> str | None:
        """The exchange that takes what this one cannot route."""
        found = self.arguments.get("alternate-exchange")
        return found.value.decode("utf-8", "surrogateescape") if found else None

    def bind(self, binding: Binding) -> bool:
        """Add a binding; return False when it exists."""
        if binding.key in self.bindings:
            return False
        self.bindings[binding.key] = binding
        ends = self._by_key.setdefault(binding.routing_key, {})
        ends[binding.destination] = ends.get(binding.destination, 0) + 1
        return True

    def unbind(self, binding: Binding) -> bool:
        """Remove a binding; return False when there is none."""
        if self.bindings.pop(binding.key, None) is None:
            return False
        ends = self._by_key[binding.routing_key]
        ends[binding.destination] -= 1
        if not ends[binding.destination]:
            del ends[binding.destination]
        if not ends:
            del self._by_key[binding.routing_key]
        return True

    def find_bindings_to(self, destination: Destination) -> list[Binding]:
        return [each for each in self.bindings.values() if each.destination == destination]

    def match(self, keys: Iterable[str], headers: Table) -> Iterator[Destination]:
        """Yield the destinations of a message with these routing keys; one may come more than once."""
        if self.type == "headers":
            for each in self.bindings.values():
                if matches_headers(each.arguments, headers):
                    yield each.destination
            return
        if self.type in ("fanout", "x-local-random"):
            yield from (each.destination for each in self.bindings.values())
            return
        for key in keys:
            if self.type == "topic":
                for pattern, ends in self._by_key.items():
                    if matches_topic(pattern, key):
                        yield from ends
            else:
                yield from self._by_key.get(key, ())
