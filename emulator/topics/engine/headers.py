"""Reading the headers of commands that are lists, or may hold only certain characters."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from emulator.topics.engine.commands import ACK_TYPES
from emulator.topics.engine.refusals import Category, CommandRefusedError

_BASE64 = re.compile(r"[A-Za-z0-9+/=]*")
_BARE = frozenset({"oof", "timestamp", "replace", "no_empties", "cancel", "expire"})
_COUNTED = frozenset({"max_backlog", "skip_n"})


class Options(msgspec.Struct, frozen=True):
    """What ``opts`` asks for.

    ``oof``: say when a record leaves the subscription. ``timestamp``: say when a message was processed.
    ``replace``: take the place of the subscription of this id. ``no_empties``: no deltas without a change.
    ``max_backlog``: how many leased messages of a queue at once. ``skip_n``: leave out the first of the
    records found. ``cancel``, ``expire``: what becomes of a queue's messages, see ``SowDelete``.
    """

    oof: bool = False
    timestamp: bool = False
    replace: bool = False
    no_empties: bool = False
    cancel: bool = False
    expire: bool = False
    max_backlog: int = 1
    skip_n: int = 0


@lru_cache(maxsize=1024)
def read_options(opts: str, allowed: frozenset[str]) -> Options:
    """``opts`` as read.

    Raises CommandRefusedError for what is not one of ``allowed``, or no option at all.
    """
    said: dict[str, bool | int] = {}
    for option in listed(opts):
        name, equals, number = option.partition("=")
        if name not in allowed:
            raise CommandRefusedError(
                "bad options", f"{name!r} means nothing here; known are {', '.join(sorted(allowed))}"
            )
        if name in _BARE and not equals:
            said[name] = True
        elif name in _COUNTED and number.isdecimal() and len(number) < 10:
            said[name] = int(number)
        else:
            wanted = f"{name}=NUMBER" if name in _COUNTED else name
            raise CommandRefusedError("bad options", f"{option!r} is not written as {wanted}")
    return Options(**said)  # type: ignore[arg-type] # each value has been read as its option's


@lru_cache(maxsize=256)
def known_ack_types(ack_type: str) -> frozenset[str]:
    """The acknowledgements asked for; one that there is not counts as ``processed``, where errors are."""
    return frozenset(one if one in ACK_TYPES else "processed" for one in listed(ack_type))


@lru_cache(maxsize=256)
def check_ack_types(ack_type: str) -> None:
    """Raises CommandRefusedError when one is asked for that there is not."""
    for one in listed(ack_type):
        if one not in ACK_TYPES:
            raise CommandRefusedError(
                "bad acknowledgement type", f"{one[:80]!r} is none; there are {', '.join(ACK_TYPES)}"
            )


def listed(text: str) -> list[str]:
    """The entries of a comma-separated list."""
    return [one for one in (part.strip() for part in text.split(",")) if one]


def base64_only(text: str, category: Category) -> None:
    """Raises CommandRefusedError when ``text`` has characters that Base64 (RFC 4648, section 4) has not."""
    if not _BASE64.fullmatch(text):
        raise CommandRefusedError(
            category, f"{text[:80]!r} has characters other than A-Z, a-z, 0-9, +, / and ="
        )
