"""The one source of chance: a stream of draws for each (seed, name, ...), independent of every other.

A fault asks for the stream of its own name and one message's id. Adding a
fault, removing one, or seeing the messages in another order therefore moves
nobody else's draws.
"""

from __future__ import annotations

import os
import random
import secrets
import uuid
from hashlib import blake2b


class Draws(random.Random):
    """One stream of chance: ``random.Random`` with a UUID to draw as well."""

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
    """A seed for a run that was given none; 32 bits, so that it can be read out and typed."""
    return secrets.randbits(32)


def new_bytes(count: int) -> bytes:
    """``count`` fresh bytes for something that no seed needs to repeat."""
    return os.urandom(count)


def new_uuid() -> str:
    """A fresh version 4 UUID for something that no seed needs to repeat."""
    # Half the time of uuid.uuid4, which every answer of the AWS port would take.
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
