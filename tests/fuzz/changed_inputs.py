"""Inputs that chance makes of others, where there is no fuzzer that is guided by coverage."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.rng import Draws

_TELLING = (
    b"\0",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\r\n",
    b'"',
    b"{",
    b"[",
    b"(",
)


def change(data: bytes, others: Sequence[bytes], chance: Draws) -> bytes:
    """``data`` with one to eight bytes or pieces replaced, removed, repeated, or taken from another input."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        at = chance.randint(0, len(changed))
        end = min(len(changed), at + chance.choice((1, 1, 2, 4, 16, 64)))
        match chance.randrange(6):
            case 0:
                changed[at:end] = chance.randbytes(end - at)
            case 1:
                del changed[at:end]
            case 2:
                changed[at:at] = changed[at:end] * chance.randint(1, 4)
            case 3:
                changed[at : at + 1] = chance.choice(_TELLING)
            case 4:
                other = chance.choice(others)
                begin = chance.randint(0, len(other))
                changed[at:end] = other[begin : begin + chance.randint(0, 64)]
            case _ if at < len(changed):
                changed[at] ^= 1 << chance.randrange(8)
    return bytes(changed)
