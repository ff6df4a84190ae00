"""The parts of docs/tui.md that are made of the TUI: its keys, and the fields of a filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rdss_sandbox.shapes.contract import ContractField
from tui.keys.actions import ACTIONS, keys_for_people
from tui.state.query import explain_fields


def list_keys() -> Iterator[str]:
    """A table with a heading for each group of actions."""
    for group in dict.fromkeys(action.group for action in ACTIONS):
        yield f"### {group}\n\n| key | does | | name in a keymap |\n|---|---|---|---|\n" + "".join(
            f"| `{keys_for_people(each.keys)}` | {each.label} | {each.help} | `{each.id}` |\n"
            for each in ACTIONS
            if each.group == group
        )


def list_fields(fields: Iterable[ContractField]) -> str:
    """The language of filters, as a table."""
    rows = "".join(
        f"| `{name}` | {each.what} | `{each.example}` |\n" for name, each in explain_fields(fields).items()
    )
    return (
        "### The filter language\n\nTerms are separated by spaces and all must hold; `-` before a term turns "
        "it round; `*` stands for any text, a comma for or, `none` for a missing field. A word without a "
        "field looks in the message id and the partition key.\n\n"
        f"| field | looks at | for example |\n|---|---|---|\n{rows}"
    )
