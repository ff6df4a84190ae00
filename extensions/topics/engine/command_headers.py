"""Reads and checks the headers of commands that are lists or have a restricted set of characters."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from extensions.topics.engine.command_refusal import Category, CommandRefusedError
from extensions.topics.engine.commands import ACK_TYPES

_BASE64 = re.compile(r"[A-Za-z0-9+/=]*")
_BARE = frozenset({"oof", "timestamp", "replace", "no_empties", "cancel", "expire"})
_COUNTED = frozenset({"max_backlog", "skip_n"})


class CommandOptions(msgspec.Struct, frozen=True):
    """The options in ``opts``.

    ``oof``: send a message when a record leaves the subscription. ``timestamp``: add the processing time to
    messages. ``replace``: replace the subscription of this id. ``no_empties``: send no deltas without a
    change.
    ``max_backlog``: the maximum number of leased messages of a queue. ``skip_n``: skip the first records
    found. ``cancel`` and ``expire``: see ``SowDelete``.
    """

    oof: bool = False
    timestamp: bool = False
    replace: bool = False
    no_empties: bool = False
    cancel: bool = False
    expire: bool = False
    max_backlog: int = 1
    skip_n: int = 0


# Clients send the same few texts again and again.
@lru_cache(maxsize=1024)
def read_options(opts: str, allowed: frozenset[str]) -> CommandOptions:
    """Read ``opts``. Raises CommandRefusedError for an option that is not valid or not in ``allowed``."""
    options: dict[str, bool | int] = {}
    for option in split_list(opts):
        name, equals, number = option.partition("=")
        if name not in allowed:
            raise CommandRefusedError(
                "bad options", f"{name!r} means nothing here; known are {', '.join(sorted(allowed))}"
            )
        if name in _BARE and not equals:
            options[name] = True
        # Python refuses to read numbers of thousands of digits.
        elif name in _COUNTED and number.isdecimal() and len(number) < 10:
            options[name] = int(number)
        else:
            form = f"{name}=NUMBER" if name in _COUNTED else name
            raise CommandRefusedError("bad options", f"{option!r} is not written as {form}")
    return CommandOptions(**options)  # type: ignore[arg-type] # each value has been read as its option's


@lru_cache(maxsize=256)
def known_ack_types(ack_type: str) -> frozenset[str]:
    """Read the requested acknowledgements; an unknown one becomes ``processed``, which reports the error."""
    return frozenset(one if one in ACK_TYPES else "processed" for one in split_list(ack_type))


@lru_cache(maxsize=256)
def check_ack_types(ack_type: str) -> None:
    """Raise CommandRefusedError for an unknown acknowledgement type."""
    for one in split_list(ack_type):
        if one not in ACK_TYPES:
            raise CommandRefusedError(
                "bad acknowledgement type", f"{one[:80]!r} is none; there are {', '.join(ACK_TYPES)}"
            )


def split_list(text: str) -> list[str]:
    """Split a comma-separated list into its entries."""
    return [one for one in (part.strip() for part in text.split(",")) if one]


def check_base64(text: str, category: Category) -> None:
    """Raise CommandRefusedError if ``text`` has characters outside of Base64 (RFC 4648, section 4)."""
    if not _BASE64.fullmatch(text):
        raise CommandRefusedError(
            category, f"{text[:80]!r} has characters other than A-Z, a-z, 0-9, +, / and ="
        )
