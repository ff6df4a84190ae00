"""Whole sandboxes of the profiles, each brought up once for all tests of a process and used by clients."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.channels.aws_session import aws_session
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.topology import Topology
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.compose.stack import Stack

SEED = 7
AMQP_SECONDS = 60.0
READY_SECONDS = 60.0
REGION = "us-east-1"
ACCOUNT = "000000000000"

PROFILES = ("embedded", "relay", "localstack", "compose")
IN_PROCESS = ("embedded", "relay")


def in_profiles(*kinds: str) -> list[Any]:
    """Parameters of a fixture: each profile, or each kind of channel in each of them.

    One worker brings up a group's sandboxes, and all of the group's tests are its.
    """
    return [
        pytest.param(
            f"{profile} {kind}".strip(),
            marks=[
                pytest.mark.xdist_group(_group(profile, kind)),
                pytest.mark.timeout(900),
                *([] if profile in IN_PROCESS else [pytest.mark.compose]),
                *([pytest.mark.rabbitmq] if kind == "rabbitmq" and profile != "compose" else []),
            ],
        )
        for profile in PROFILES
        for kind in kinds or ("",)
    ]


def _group(profile: str, kind: str) -> str:
    if profile not in IN_PROCESS:
        return "compose"
    return "rabbitmq" if kind == "rabbitmq" else "profiles"


class SandboxClock:
    """The clock of a sandbox by its control API, and of what is behind it where that has one to be set."""

    def __init__(self, *controls: Client) -> None:
        self._controls = controls

    def time(self) -> float:
        return self._controls[0].clock().time

    elapsed = time
    """Nobody turns it back while a test lasts."""

    def advance(self, seconds: float) -> None:
        self._change(ClockChange("advance", seconds=seconds))

    def run_at(self, speed: float) -> None:
        self._change(ClockChange("speed", speed=speed))

    def freeze(self) -> None:
        self._change(ClockChange("freeze"))

    def resume_real_time(self) -> None:
        self._change(ClockChange("real"))

    def _change(self, change: ClockChange) -> None:
        for control in self._controls:
            control.change_clock(change)


_IDLE = "idle.pid"


@dataclass
class ProfileSandbox:
    """A sandbox of some profile, for clients; the streams that a test makes are removed behind it.

    ``project`` is the Compose project whose containers its faults can strike; ``idle`` a file that names the
    process that they can, as the target ``idle``. ``token`` is what its ports ask for.
    """

    profile: str
    aws: str
    amqp: str | None
    control: Client
    clock: SandboxClock
    project: str | None = None
    idle: Path | None = None
    token: str | None = None
    streams: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        from botocore.config import Config

        # What is wrong with a request is for the sandbox to say, not for boto3.
        config = Config(parameter_validation=False, read_timeout=30, retries={"total_max_attempts": 1})
        self.kinesis: Any = aws_session(REGION, self.token).client(
            "kinesis", endpoint_url=self.aws, config=config
        )

    @property
    def own_streams(self) -> bool:
        """Whether the streams are our engine's, or LocalStack's."""
        return self.profile in IN_PROCESS

    def broker(self) -> str:
        """The AMQP URL of a sandbox that has RabbitMQ behind it."""
        assert self.amqp is not None, "this sandbox was started without RabbitMQ"
        return self.amqp

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """What a client of the AWS port is answered, once what it asked for is done."""
        from botocore import xform_name

        answer: dict[str, Any] = getattr(self.kinesis, xform_name(operation))(**request)
        answer.pop("ResponseMetadata")
        name = str(request.get("StreamName"))
        if operation == "CreateStream":
            self.streams.append(name)
        if operation in _CHANGES:
            self._until(lambda: self._status(name) == "ACTIVE")
        elif operation == "DeleteStream":
            self._until(lambda: name not in self.kinesis.list_streams()["StreamNames"])
        elif operation == "RegisterStreamConsumer":
            self._until(lambda: self._consumer(answer["Consumer"]["ConsumerARN"]) == "ACTIVE")
        elif operation == "DeregisterStreamConsumer":
            self._until(lambda: self._consumer(request["ConsumerARN"]) is None)
        return answer

    def put_away(self) -> None:
        """Leave it as it was: real time, no faults, none of the test's streams."""
        for fault in self.control.faults():
            self.control.remove_fault(fault.name)
        self.clock.resume_real_time()
        while self.streams:
            self._remove(self.streams.pop())

    def _remove(self, name: str) -> None:
        """A stream that is changing cannot be deleted yet; LocalStack may say so of one that it deleted."""
        with suppress(self.kinesis.exceptions.ResourceNotFoundException):
            self._until(lambda: self._deleted(name))

    def _deleted(self, name: str) -> bool:
        try:
            self.kinesis.delete_stream(StreamName=name, EnforceConsumerDeletion=True)
        except self.kinesis.exceptions.ResourceInUseException:
            return False
        return True

    def _status(self, name: str) -> str:
        summary = self.kinesis.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]
        return str(summary["StreamStatus"])

    def _consumer(self, arn: str) -> str | None:
        try:
            described = self.kinesis.describe_stream_consumer(ConsumerARN=arn)
        except self.kinesis.exceptions.ResourceNotFoundException:
            return None
        return str(described["ConsumerDescription"]["ConsumerStatus"])

    def _until(self, done: Callable[[], bool]) -> None:
        wait_until(done, seconds=READY_SECONDS)


_CHANGES = {
    "CreateStream",
    "SplitShard",
    "MergeShards",
    "UpdateShardCount",
    "StartStreamEncryption",
    "StopStreamEncryption",
}


def settings(**more: Any) -> Settings:
    given = {"aws_port": 0, "control_port": 0, "amqp_port": 0, "data_dir": None, "seed": SEED, **more}
    return Settings(**given)


def build_sandbox(
    profile: str, running: Embedded, stack: ExitStack, folder: Path, *behind: Embedded
) -> ProfileSandbox:
    controls = [stack.enter_context(Client(each.control)) for each in (running, *behind)]
    clock = SandboxClock(*controls)
    return ProfileSandbox(profile, running.aws, amqp_of(running), controls[0], clock, idle=folder / _IDLE)


def idle_in(folder: Path) -> tuple[str, ...]:
    """The setting that names the idle process, which each test starts anew."""
    return (f"idle={folder / _IDLE}",)


def amqp_of(running: Embedded) -> str | None:
    """Where RabbitMQ answers, once it does; None where there is none."""
    wait_until(
        lambda: running.broker.url is None or running.broker.answers,
        seconds=AMQP_SECONDS,
        shown=lambda: running.broker.notes,
    )
    return running.broker.url


@contextmanager
def open_embedded(_request: pytest.FixtureRequest, folder: Path, *, amqp: bool) -> Iterator[ProfileSandbox]:
    """With ``amqp`` the sandbox starts RabbitMQ by itself, as a user's does that asks for it."""
    with ExitStack() as stack:
        asked = settings(amqp="server" if amqp else "none", targets=idle_in(folder))
        yield build_sandbox("embedded", stack.enter_context(embedded(asked)), stack, folder)


@contextmanager
def open_relay(request: pytest.FixtureRequest, folder: Path, *, amqp: bool) -> Iterator[ProfileSandbox]:
    """In front of an embedded sandbox, as in front of anybody's endpoint, and of a broker."""
    with ExitStack() as stack:
        behind = stack.enter_context(embedded(settings(seed=1, topology=Topology())))
        asked = settings(
            profile="relay",
            upstream_aws=behind.aws,
            upstream_amqp=request.getfixturevalue("broker_url") if amqp else None,
            targets=idle_in(folder),
        )
        yield build_sandbox("relay", stack.enter_context(embedded(asked)), stack, folder, behind)


@pytest.fixture(scope="session")
def localstack_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a LocalStack in host mode, installed from the package registries."""
    from sandbox.profiles import localstack_profile

    if not any(answers(f"python3.{minor}") for minor in range(13, 20)) or not answers("npm"):
        pytest.skip("NO PYTHON 3.13 OR NO NPM: LocalStack in host mode was not tested against")
    home = tmp_path_factory.mktemp("localstack")
    localstack_profile.install(home, print)
    return home


@contextmanager
def open_localstack(request: pytest.FixtureRequest, folder: Path, *, amqp: bool) -> Iterator[ProfileSandbox]:
    """LocalStack itself in host mode, and RabbitMQ beside it."""
    from sandbox.profiles import localstack_profile

    with ExitStack() as stack:
        home = request.getfixturevalue("localstack_home")
        url = stack.enter_context(localstack_profile.started(home, os.environ, print))
        asked = settings(
            profile="localstack",
            upstream_aws=url,
            upstream_owned=True,
            amqp="server",
            targets=idle_in(folder),
        )
        yield build_sandbox("localstack", stack.enter_context(embedded(asked)), stack, folder)


def answers(command: str) -> bool:
    if shutil.which(command) is None:
        return False
    return subprocess.run([command, "--version"], capture_output=True, check=False).returncode == 0


@contextmanager
def open_compose(request: pytest.FixtureRequest, _folder: Path, *, amqp: bool) -> Iterator[ProfileSandbox]:
    stack = request.getfixturevalue("stack")
    with Client(stack.said["control"], token=stack.said["token"]) as control:
        said = stack.said
        clock = SandboxClock(control)
        sandbox = ProfileSandbox(
            "compose", said["aws"], said["amqp"], control, clock, stack.name, token=said["token"]
        )
        yield sandbox


class OpenSandbox(Protocol):
    """Brings up the sandbox of a profile, with RabbitMQ behind it or not; LocalStack's always have it."""

    def __call__(
        self, request: pytest.FixtureRequest, folder: Path, /, *, amqp: bool
    ) -> AbstractContextManager[ProfileSandbox]: ...


OPENERS: dict[str, OpenSandbox] = {
    "embedded": open_embedded,
    "relay": open_relay,
    "localstack": open_localstack,
    "compose": open_compose,
}


class ProfileSandboxes:
    """Each profile's sandbox, brought up when first asked for; what prevents one is said to every test."""

    def __init__(
        self, request: pytest.FixtureRequest, folders: pytest.TempPathFactory, stack: ExitStack
    ) -> None:
        self._request = request
        self._folders = folders
        self._stack = stack
        self._up: dict[str, ProfileSandbox] = {}
        self._refused: dict[str, BaseException] = {}

    def of(self, profile: str, *, amqp: bool) -> ProfileSandbox:
        """The profile's sandbox; ``amqp`` asks for one with RabbitMQ behind it."""
        key = f"{self._instance(profile)} {amqp and profile in IN_PROCESS}"
        if key in self._refused:
            raise self._refused[key]
        if key not in self._up:
            folder = self._folders.mktemp(profile)
            try:
                opened = self._stack.enter_context(OPENERS[profile](self._request, folder, amqp=amqp))
            except BaseException as error:
                self._refused[key] = error
                raise
            self._stack.callback(opened.kinesis.close)
            self._up[key] = opened
        return self._up[key]

    def _instance(self, profile: str) -> str:
        """What tells a profile's sandbox from its next one: a test has the stack come up again, elsewhere."""
        if profile != "compose":
            return profile
        stack: Stack = self._request.getfixturevalue("stack")
        return str(stack.said["control"])


@pytest.fixture(scope="session")
def profile_sandboxes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProfileSandboxes]:
    with ExitStack() as stack:
        yield ProfileSandboxes(request, tmp_path_factory, stack)


@contextmanager
def use_sandbox(
    profile: str, request: pytest.FixtureRequest, kind: str = "kinesis"
) -> Iterator[ProfileSandbox]:
    """The sandbox of a profile for one test, with what the kind of channel needs."""
    profile_sandboxes: ProfileSandboxes = request.getfixturevalue("profile_sandboxes")
    found = profile_sandboxes.of(profile, amqp=kind == "rabbitmq")
    yield found
    found.put_away()
