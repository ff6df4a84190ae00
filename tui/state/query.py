"""The filter language for the user: meanings, examples and completion. The sandbox does the matching."""

from __future__ import annotations

from dataclasses import dataclass

from textual.suggester import Suggester

from rdss_sandbox.message_filter import MARKS, OF_A_RECORD, Kind
from schemas.rdss.fields import FIELDS as DECLARED

FIELDS: dict[str, Kind] = {field.name: field.kind for field in DECLARED if field.indexed} | OF_A_RECORD
# For each field: its meaning, an example, and values for completion.
MEANINGS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    field.name: (field.path, field.example, field.choices) for field in DECLARED if field.indexed
} | {
    "stream": ("the stream it is in", "stream:input", ("input", "output", "error", "invalid", "audit")),
    "shard": ("the shard it is in", "shard:*0003", ()),
    "key": ("partition key", "key:*", ()),
    "number": ("sequence number in its shard", "number>4959", ()),
    "size": ("bytes, with k or M", "size>500k", ()),
    "time": ("when the stream took it", "time>=2026-03-01T12:00:00Z", ()),
    "mark": ("what is out of the ordinary", "mark:duplicate", MARKS),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that the user saved under a name."""

    name: str
    text: str


class QuerySuggester(Suggester):
    """Completes the last word of a filter: a field's name, or a known value."""

    def __init__(self) -> None:
        super().__init__(use_cache=True, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        before, _, word = value.rpartition(" ")
        completed = complete(word)
        return f"{before} {completed}".lstrip() if completed else None


def complete(word: str) -> str | None:
    """The first field or known value that starts with ``word``; None for an empty word or an unknown one."""
    if not word:
        return None
    field, colon, value = word.partition(":")
    if not colon:
        return next((f"{name}:" for name in FIELDS if name.startswith(field)), None)
    known = MEANINGS.get(field, ("", "", ()))[2]
    return next((f"{field}:{each}" for each in known if value and each.startswith(value)), None)


def both(scope: str, text: str) -> str:
    """The filter that matches what both ``scope`` and ``text`` match."""
    return f"{scope} {text}".strip()


def as_markdown() -> str:
    """The language as a table of Markdown."""
    rows = "\n".join(f"| `{name}` | {what} | `{example}` |" for name, (what, example, _) in MEANINGS.items())
    return (
        "### The filter language\n\nTerms are separated by spaces and all must hold; `-` before a term turns "
        "it round; `*` stands for any text, a comma for or, `none` for a missing field. A word without a "
        "field looks in the message id and the partition key.\n\n"
        f"| field | looks at | for example |\n|---|---|---|\n{rows}\n"
    )
