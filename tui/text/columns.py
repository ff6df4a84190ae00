"""Columns of a list: the cell of each for a row, and the choice of columns that fit a width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.cells import cell_len, set_cell_size

from rdss_sandbox.text.visible_text import visible

Row = TypeVar("Row")

_AFTER_GAP = 2


@dataclass(frozen=True)
class ListColumn(Generic[Row]):
    """``cell`` gives the text for ``width`` cells; ``tone`` is its style or gives it, a tone of ``row_list``.

    Without room for all columns, those with the lowest ``worth`` are left out. The column with ``stretch``
    gets the remaining width, and is drawn even when it is empty in every row. What ``after`` gives follows
    the text, dim, as far as there is room.
    """

    title: str
    width: int
    cell: Callable[[Row], str]
    tone: str | Callable[[Row], str] = ""
    right: bool = False
    worth: int = 5
    stretch: bool = False
    after: Callable[[Row], str] | None = None

    def choose_tone(self, row: Row) -> str:
        """The tone for this row, "" for none."""
        return self.tone if isinstance(self.tone, str) else self.tone(row)

    def fit_title(self, width: int) -> str:
        """The title in exactly ``width`` cells: the last word of one that does not fit."""
        words = self.title if len(self.title) <= width else self.title.split()[-1]
        return fit(words, width, right=self.right)

    def fit(self, row: Row, width: int) -> str:
        """The text in exactly ``width`` cells, with an ellipsis where it was cut."""
        text = self.cell(row)
        if text.isascii() and text.isprintable() and len(text) <= width:
            return text.rjust(width) if self.right else text.ljust(width)
        return fit(visible(text), width, right=self.right)


def split_cell(column: ListColumn[Row], row: Row, width: int) -> tuple[str, str]:
    """The text of a cell and what follows it, together in exactly ``width`` cells."""
    text = visible(column.cell(row))
    more = visible(column.after(row)) if column.after else ""
    used = cell_len(text) + _AFTER_GAP
    if not more or used >= width:
        return fit(text, width), ""
    return text + " " * _AFTER_GAP, fit(more, width - used)


def fit(text: str, width: int, *, right: bool = False) -> str:
    """``text`` in exactly ``width`` cells."""
    length = len(text) if text.isascii() else cell_len(text)
    if length > width > 1 and text.isascii():
        return text[: width - 1] + "…"
    if length > width:
        return set_cell_size(text, width - 1) + "…" if width > 1 else "…"[:width]
    return " " * (width - length) + text if right else text + " " * (width - length)


def choose_columns(
    columns: Sequence[ListColumn[Row]], width: int, gap: int = 1
) -> list[tuple[ListColumn[Row], int]]:
    """The columns that fit into ``width`` cells, in order, each with its width."""
    kept = list(columns)
    while len(kept) > 1 and sum(column.width + gap for column in kept) - gap > width:
        kept.remove(min(reversed(kept), key=lambda column: column.worth))
    spare = max(0, width - (sum(column.width + gap for column in kept) - gap))
    stretching = next((column for column in kept if column.stretch), None)
    return [(column, column.width + (spare if column is stretching else 0)) for column in kept]


class FilledColumns(Generic[Row]):
    """Of a list's columns those that say something of a row that came; before there are rows, all."""

    def __init__(self, columns: Sequence[ListColumn[Row]]) -> None:
        self._columns = columns
        self._filled: set[ListColumn[Row]] = set()

    def note(self, rows: Sequence[Row]) -> bool:
        """Take in rows that came; whether they are the first to fill a column."""
        empty = [each for each in self._columns if each not in self._filled]
        found = {
            each for each in empty if rows and (each.stretch or any(each.cell(row).strip() for row in rows))
        }
        self._filled |= found
        return bool(found)

    def forget(self) -> None:
        """Wait for other rows."""
        self._filled.clear()

    def choose(self, width: int) -> list[tuple[ListColumn[Row], int]]:
        """Those that fit into ``width`` cells, each with its width."""
        filled = [each for each in self._columns if each in self._filled]
        return choose_columns(filled or self._columns, width)
