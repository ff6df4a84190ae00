"""The one source of chance: an independent stream of draws for each (seed, name, ...).

A fault draws from the stream of its own name and one message's id. Other faults,
and the order of messages, therefore do not change its draws.
"""

from __future__ import annotations

import os
import random
import secrets
import uuid
from hashlib import blake2b


class Draws(random.Random):
    """One stream of chance: ``random.Random`` that also draws UUIDs."""

    def uuid4(self) -> str:
        """A version 4 UUID in lower case."""
        return str(uuid.UUID(int=self.getrandbits(128), version=4))


class Chance:
    """Chance from one seed.

    >>> Chance(7).draws("duplicate", "m-1").random() == Chance(7).draws("duplicate", "m-1").random()
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = new_seed() if seed is None else seed

    def draws(self, *names: str) -> Draws:
        """The stream that belongs to these names under this seed."""
        digest = blake2b("\x1f".join((str(self.seed), *names)).encode(), digest_size=16).digest()
        return Draws(int.from_bytes(digest, "big"))


def new_seed() -> int:
    """A seed for a run that was given none. It has 32 bits, so that a person can read it out and type it."""
    return secrets.randbits(32)


def new_bytes(count: int) -> bytes:
    """``count`` random bytes that no seed reproduces."""
    return os.urandom(count)


def new_uuid() -> str:
    """A random version 4 UUID that no seed reproduces."""
    return str(uuid.uuid4())


def uuid_of(drawn: bytes) -> str:
    """The version 4 UUID of 16 random bytes, for the id of an answer.

    Every answer of the AWS port has one, and this takes half the time of the library, which messages get
    theirs from.
    """
    digits = drawn.hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
