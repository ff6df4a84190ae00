"""A function with its versions and aliases. The fields have AWS's names, so that an answer is the value."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

LATEST: Final = "$LATEST"


class Place(NamedTuple):
    """The account and region that a function is in, and its name."""

    account: str
    region: str
    name: str

    @property
    def arn(self) -> str:
        return f"arn:aws:lambda:{self.region}:{self.account}:function:{self.name}"


class Code(msgspec.Struct, frozen=True):
    """The code of an archive with this ``digest``, or in a ``watched`` folder, read again at a change.

    ``sha256`` is what AWS shows: the digest in base64.
    """

    sha256: str
    size: int
    digest: str = ""
    watched: str = ""


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """A version that was published, or ``$LATEST``. ``timeout`` is seconds, ``memory`` megabytes.

    ``modified`` is seconds since the epoch.
    """

    number: str = LATEST
    runtime: str
    handler: str
    role: str
    description: str = ""
    timeout: int = 3
    memory: int = 128
    environment: dict[str, str] = {}
    architectures: tuple[str, ...] = ("x86_64",)
    storage: int = 512
    dead_letters: str = ""
    code: Code
    modified: float
    revision: str


class Alias(msgspec.Struct, frozen=True):
    """A name of a version. ``weights`` are the shares of other versions, by their numbers."""

    name: str
    version: str
    description: str
    revision: str
    weights: dict[str, float] = {}


class AsyncSettings(msgspec.Struct, frozen=True):
    """What happens to events that nobody waits for. ``age`` is seconds; destinations are ARNs."""

    retries: int = 2
    age: int = 21_600
    on_success: str = ""
    on_failure: str = ""
    modified: float = 0.0


class Function(msgspec.Struct, kw_only=True):
    """A function. ``concurrency`` is the number of environments that it may have, if that is limited."""

    account: str
    region: str
    name: str
    latest: Version
    versions: list[Version] = []
    aliases: dict[str, Alias] = {}
    concurrency: int | None = None
    asynchronous: AsyncSettings | None = None
    tags: dict[str, str] = {}
    policy: dict[str, dict[str, Any]] = {}
    published: int = 0

    @property
    def place(self) -> Place:
        return Place(self.account, self.region, self.name)

    def find_version(self, number: str) -> Version | None:
        """The version with this number; None where there is none."""
        if number == LATEST:
            return self.latest
        return next((each for each in self.versions if each.number == number), None)
