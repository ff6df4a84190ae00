"""What a contract declares of the fields of its messages.

What is indexed, filtered, counted, matched by faults, shown and written to tables is made from these
declarations. Fields named in ``COMMON`` mean the same in every contract; every other one is a label of the
contract's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["text", "identifier", "number", "time"]

Stored: TypeAlias = Literal["STRING", "INT", "BIGINT", "DOUBLE", "TIMESTAMP"]

COMMON: Final = ("id", "type", "sequence", "position", "total", "code", "published", "expires")
"""The names of the fields that mean the same in every contract that declares them."""


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
