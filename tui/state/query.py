"""The filter language for the user: meanings, examples and completion; and the filter of each screen.

The sandbox does the matching.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from textual.suggester import Suggester

from rdss_sandbox.questions.message_filter import MARKS, OF_A_RECORD, Kind
from rdss_sandbox.shapes.contract import ContractField
from rdss_sandbox.shapes.topology import Topology

Scope: TypeAlias = Callable[[Topology], str]
"""The filter of a screen, made of the names of streams."""


class Meaning(NamedTuple):
    """What a field of a filter looks at, a term with it, and values for completion."""

    kind: Kind
    what: str
    example: str
    choices: tuple[str, ...] = ()


_OF_A_RECORD: Final = {
    "stream": ("the stream it is in", "stream:input", ("input", "output", "error", "invalid", "audit")),
    "shard": ("the shard it is in", "shard:*0003", ()),
    "key": ("partition key", "key:*", ()),
    "number": ("sequence number in its shard", "number>4959", ()),
    "size": ("bytes, with k or M", "size>500k", ()),
    "time": ("when the stream took it", "time>=2026-03-01T12:00:00Z", ()),
    "mark": ("what is out of the ordinary", "mark:duplicate", MARKS),
}


def explain_fields(fields: Iterable[ContractField]) -> dict[str, Meaning]:
    """Every field that can be filtered by: those of the contract, then those of a record."""
    own = {
        each.name: Meaning(each.kind, each.path, each.example, each.choices)
        for each in fields
        if each.indexed
    }
    return own | {name: Meaning(kind, *_OF_A_RECORD[name]) for name, kind in OF_A_RECORD.items()}


def show_example(fields: Iterable[ContractField]) -> str:
    """A filter to begin with."""
    own = [each.example for each in fields if each.name in {"type", "code"}]
    return " ".join((*own, "size>500k", "mark:duplicate", "…"))


def show_match(fields: Iterable[ContractField]) -> str:
    """How a fault is told which messages to match: a field, and what it is to be, with ``*`` if possible."""
    counted = [each for each in fields if each.counted and each.example]
    best = max(counted, key=lambda each: "*" in each.example, default=None)
    return f"{best.path.rpartition('.')[2]}={best.example.partition(':')[2]}" if best else "…"


class QuerySuggester(Suggester):
    """Completes the last word of a filter: a field's name, or a known value."""

    def __init__(self, meanings: Mapping[str, Meaning]) -> None:
        super().__init__(use_cache=True, case_sensitive=True)
        self._meanings = meanings

    async def get_suggestion(self, value: str) -> str | None:
        before, _, word = value.rpartition(" ")
        completed = complete(word, self._meanings)
        return f"{before} {completed}".lstrip() if completed else None


def complete(word: str, meanings: Mapping[str, Meaning]) -> str | None:
    """The first field or known value that starts with ``word``; None for an empty word or an unknown one."""
    if not word:
        return None
    field, colon, value = word.partition(":")
    if not colon:
        return next((f"{name}:" for name in meanings if name.startswith(field)), None)
    known = meanings[field].choices if field in meanings else ()
    return next((f"{field}:{each}" for each in known if value and each.startswith(value)), None)


def both(scope: str, text: str) -> str:
    """The filter that matches what both ``scope`` and ``text`` match."""
    return f"{scope} {text}".strip()


def everything_once(topology: Topology) -> str:
    """Every message except the copies in the audit log."""
    return f"-stream:{topology.audit.stream}" if topology.audit else ""


def refused(topology: Topology) -> str:
    """The messages in the error and invalid queues; without such queues, those with an error code."""
    return f"stream:{','.join(topology.archives)}" if topology.archives else "-code:none"
