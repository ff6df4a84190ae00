"""The sandbox as a whole: its addresses, its contents and its version."""

from __future__ import annotations

from typing import Literal

import msgspec

from rdss_sandbox.shapes.clock import ClockReading
from rdss_sandbox.shapes.streams import Stream
from rdss_sandbox.shapes.topology import Topology


class Port(msgspec.Struct, frozen=True):
    """A port that the sandbox listens on, by what answers there. ``address`` is the setting ``host``."""

    name: str
    address: str
    port: int


class Doors(msgspec.Struct, frozen=True):
    """What the sandbox listens on, and who may come in.

    A request comes in by one of the names ``hosts``, or with the token where there is one; AMQP clients with
    a password. The web pages of ``origins`` may use it too. Without a ``token``, so may every program that
    reaches the address.
    """

    ports: tuple[Port, ...]
    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    token: bool


class Addresses(msgspec.Struct, frozen=True, kw_only=True):
    """Where a running sandbox is: the URLs of its ports, its seed, the AWS region of its streams.

    ``token`` is what every port asks for, None where none does. ``amqp`` is None where nothing answers;
    ``ports`` has the URLs of the extensions' ports by name. ``trust`` is the PEM file of the authority that
    clients must be told to trust, None where there is none.
    """

    aws: str
    control: str
    amqp: str | None
    seed: int
    region: str
    token: str | None = None
    trust: str | None = None
    ports: dict[str, str] = {}


class Status(msgspec.Struct, frozen=True):
    """The running sandbox: its addresses, its contents and notes for the user.

    ``aws``, ``control``, ``amqp`` and ``amqp_management`` are URLs, None where nothing listens; ``ports`` has
    those of extensions by name. ``uptime`` is in real seconds. ``messages`` counts messages in the index or
    known to wait for it; ``events`` is the newest event's id. ``topology`` is the one it started with; it
    names the audit log and the error and invalid queues. ``doors`` says what listens, and who may come in.
    ``contract`` is the name and the release of what messages are judged by.
    """

    version: str
    profile: str
    pid: int
    uptime: float
    aws: str
    control: str
    amqp: str | None
    data_dir: str
    seed: int
    clock: ClockReading
    streams: tuple[Stream, ...]
    messages: int
    events: int
    topology: Topology
    notes: tuple[str, ...]
    amqp_management: str | None = None
    doors: Doors | None = None
    ports: dict[str, str] = {}
    contract: str = ""


class Version(msgspec.Struct, frozen=True):
    """The sandbox's version and that of the message specification it implements."""

    version: str
    specification: str


class Health(msgspec.Struct, frozen=True):
    """The answer of a sandbox that is ready."""

    status: Literal["ok"]


class Reset(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the sandbox begins with after a reset, so that a run can be repeated in it.

    ``seed`` is the seed of everything random from then on; by default the seed stays. ``time``, in seconds
    since the epoch, is what the clock shows; by default it shows real time.
    """

    seed: int | None = None
    time: float | None = None
