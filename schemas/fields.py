"""What a contract declares of the fields of its messages.

What is indexed, filtered, counted, matched by faults, shown and written to tables is made from these
declarations. Fields named in ``COMMON`` mean the same in every contract; every other one is a label of the
contract's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["text", "identifier", "number", "time"]

Stored: TypeAlias = Literal["STRING", "INT", "BIGINT", "DOUBLE", "TIMESTAMP"]

COMMON: Final = ("id", "type", "sequence", "position", "total", "code", "published", "expires")
"""The names of the fields that mean the same in every contract that declares them."""

OF_RECORDS: Final = ("stream", "shard", "sequence_number", "arrived", "batch")
"""The columns that tables have besides those of what a message carries."""
OF_VERDICTS: Final = (
    "partition_key", "size", "identity", "description", "data",
    "status", "parts", "first_arrived", "last_arrived", "body_sha256",
)  # fmt: skip
"""The further columns of tables that have those of the fields."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message.

    ``name`` stands in filters, ``column`` in rows, in their JSON and in tables; ``path`` says where the
    field is in a message, its parts separated by dots; ``attribute`` is the name of the field in what
    ``peek`` returns. ``example`` is a term of a filter, ``choices`` are values to offer. ``counted`` fields
    have few values, by which messages are counted. ``indexed`` fields are kept in the index and can be
    filtered by; of the others only the message knows. ``listed`` labels have a column in lists of messages,
    as all other indexed fields have. ``summed`` labels
    have sums of their own in the figures of tables. ``meaning`` describes the column in tables, where the
    path alone does not, and ``stored`` is its type there, as Spark names it.
    """

    name: str
    column: str
    path: str
    kind: Kind
    attribute: str
    example: str = ""
    choices: tuple[str, ...] = ()
    counted: bool = False
    indexed: bool = True
    listed: bool = False
    summed: bool = False
    meaning: str = ""
    stored: Stored = "STRING"

    def __post_init__(self) -> None:
        for name in (self.name, self.column):
            if not name.isidentifier() or not name.isascii():
                raise ValueError(f"a field is named {name!r}: give letters, digits and _, no digit first")

    @property
    def label(self) -> bool:
        """Whether it is the contract's own."""
        return self.name not in COMMON

    @property
    def spelling(self) -> str:
        """Its name in the message, without the objects around it."""
        return self.path.rpartition(".")[2]


def name_columns(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """A name in tables for each of some names, apart from each other and from those that are ``taken``.

    What is no letter of ASCII, digit or _ becomes _, and _ comes before a digit at the start. A name that is
    taken, in large or small letters, gets _2 at its end, or the next number that is free.
    """
    used = {name.lower() for name in taken}
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^0-9A-Za-z_]", "_", name) or "_"
        plain = f"_{plain}" if plain[0].isdigit() else plain
        number, found[name] = 1, plain
        while found[name].lower() in used:
            number += 1
            found[name] = f"{plain}_{number}"
        used.add(found[name].lower())
    return found
