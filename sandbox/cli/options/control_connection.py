"""The connection of a command to the running sandbox: the one started here, or that of ``--control``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import click

from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option

if TYPE_CHECKING:
    from emulator.channels.kinds import Queues
    from emulator.clock import Clock
    from rdss_sandbox.client import Client
    from sandbox.aws_endpoint import AwsEndpoint
    from sandbox.profiles.running import Running

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


def control_option(command: F) -> F:
    """Add the option ``--control``, for commands that need a running sandbox."""
    return click.option(
        "--control",
        metavar="URL",
        envvar="SANDBOX_CONTROL",
        help="The sandbox to ask; by default the one started here.",
    )(command)


def reach(control: str | None) -> tuple[str, str | None]:
    """Find the control API's URL and token. Raises CommandFailedError when nothing was started here."""
    from sandbox.profiles import running

    token = os.environ.get("SANDBOX_TOKEN")
    written = running.read()
    if control is not None:
        if written is None or written.control != control.rstrip("/"):
            return control, token
        running.trust_authority(written)
        return control, token or written.token
    found = find_started()
    running.trust_authority(found)
    return found.control, token or found.token


def find_started() -> Running:
    """Find the record of the sandbox started here. Raises CommandFailedError when it is not running."""
    from sandbox.profiles import running

    written = running.read()
    if written is None:
        raise CommandFailedError(
            "no sandbox was started here; start one with: sandbox up --detach", Exit.ENVIRONMENT
        )
    if not written.alive:
        message = f"the sandbox started here ({written.who}) is gone; start one with: sandbox up --detach"
        raise CommandFailedError(message, Exit.ENVIRONMENT)
    return written


def connect(control: str | None) -> Client:
    """Make a client of the running sandbox. Raises CommandFailedError when nothing was started here."""
    from rdss_sandbox.client import Client

    url, token = reach(control)
    return Client(url, token=token)


def asks_sandbox(command: Callable[..., R]) -> Callable[..., R]:
    """Add the options ``--control`` and ``--json``; the command gets a ``client`` and ``as_json``."""

    @wraps(command)
    def run(*, control: str | None, **given: Any) -> R:
        with connect(control) as client:
            return command(client=client, **given)

    return control_option(json_option(run))


@contextmanager
def follow_clock(control: str | None) -> Iterator[Clock]:
    """Follow the clock of the running sandbox for the time of the context.

    Raises CommandFailedError when none was started here.
    """
    from sandbox.following_clock import FollowingClock

    url, token = reach(control)
    with FollowingClock(url, token) as clock:
        yield clock


@contextmanager
def available_clock(control: str | None) -> Iterator[Clock]:
    """Follow the clock of the sandbox of ``control`` or of this directory; else use the machine's."""
    from emulator.clock import Clock
    from sandbox.profiles import running

    if control is None and running.find() is None:
        yield Clock()
        return
    with follow_clock(control) as clock:
        yield clock


@dataclass(frozen=True, slots=True)
class FoundChannel:
    """A channel of the running sandbox; ``since`` distinguishes it from a deleted one of that name.

    ``address`` is that of its broker. ``queues`` are the channels that serve as error and invalid queue;
    those of ``absent`` are not there.
    """

    name: str
    kind: str
    address: str
    endpoint: AwsEndpoint
    since: str
    queues: Mapping[str, str]
    absent: frozenset[str] = frozenset()

    def repository(self, application: str) -> Path:
        """The path of an application's local data repository for this channel."""
        from sandbox.profiles.running import state_directory

        return state_directory() / f"{application}-{self.since}.sqlite3"

    def connect(self, clock: Clock) -> AbstractContextManager[Queues]:
        """Connect to its broker for the time of the context."""
        from emulator.channels.kind_registry import KINDS
        from emulator.channels.kinds import Broker

        broker = Broker(self.address, self.endpoint.region, token=self.endpoint.token)
        return closing(KINDS[self.kind].connect(broker, clock))


def channel_option(help_text: str) -> Callable[[F], F]:
    """Add the option ``--channel``, its name; None for the first that messages are sent to."""
    help_of_option = f"{help_text}  [default: input, or the contract's first]"
    return click.option("--channel", metavar="NAME", help=help_of_option)


def find_channel(control: str | None, kind: str, name: str | None) -> FoundChannel:
    """Find a channel of the running sandbox as ``find_stream`` does; one that is no stream may be missing.

    Raises CommandFailedError for an unknown stream, and where no broker answers.
    """
    from emulator.channels.kind_registry import KINDS
    from sandbox.aws_endpoint import AwsEndpoint
    from sandbox.receiver.assembled_receiver import QUEUES

    if KINDS[kind].streams:
        return find_stream(control, name)
    _, token = reach(control)
    with connect(control) as client:
        found = client.status()
    if (address := getattr(found, KINDS[kind].port)) is None:
        raise CommandFailedError(f"nothing answers at the port {KINDS[kind].port}", Exit.ENVIRONMENT)
    name = name or found.topology.first
    region = next((stream.arn.split(":")[3] for stream in found.streams), "us-east-1")
    since = quote(f"{kind}-{name}-{found.seed}", safe="")
    return FoundChannel(name, kind, address, AwsEndpoint(found.aws, region, token), since, QUEUES)


def find_stream(control: str | None, name: str | None) -> FoundChannel:
    """Find a stream of the running sandbox, by default the first that messages are sent to.

    Raises CommandFailedError for an unknown name.
    """
    from sandbox.aws_endpoint import AwsEndpoint
    from sandbox.receiver.assembled_receiver import queues_among

    _, token = reach(control)
    with connect(control) as client:
        found = client.status()
        arns = {stream.name: stream.arn for stream in found.streams}
        name = name or found.topology.first
        if name not in arns:
            there = ", ".join(arns) or "none"
            why = f"the sandbox has no stream {name!r}; there are: {there}"
            if found.topology.queues:
                why += f"; with --kind rabbitmq the queues {', '.join(found.topology.queues)}"
            raise CommandFailedError(why, Exit.USAGE)
        first = client.stream(name).shards[0].starting_sequence_number
    endpoint = AwsEndpoint(found.aws, arns[name].split(":")[3], token)
    queues = queues_among(arns)
    absent = frozenset(queue for queue, stream in queues.items() if stream not in arns)
    return FoundChannel(name, "kinesis", found.aws, endpoint, first, queues, absent)
