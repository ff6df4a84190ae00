"""A broker whose stage, clock and events are those of a whole sandbox, reached by its control API."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from emulator.channels.channel import Channel
from emulator.channels.checkpoints import Checkpoints
from emulator.channels.kinesis import KinesisChannel
from emulator.channels.rabbitmq import RabbitMQChannel
from emulator.clock import Clock
from emulator.faults.fault import FaultRefusedError
from emulator.rng import new_uuid
from rdss_sandbox.client import RefusedError
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import NewFault
from sandbox.aws_endpoint import AwsEndpoint
from schemas.contract import Contract
from schemas.rdss.contract import RDSS
from tests.profile_sandboxes import REGION, ProfileSandbox, SandboxClock

_SPEED = 60.0
_SETTLED_SECONDS = 20.0


class ProfileBroker:
    """What ``Broker`` is, with Kinesis or RabbitMQ as a client of the sandbox has it."""

    jumps = False
    contract: Contract = RDSS
    leeway = _SPEED
    """Seconds of the clock that may pass beside a wait: one of the machine's."""

    def __init__(self, sandbox: ProfileSandbox, kind: str) -> None:
        self.kind = kind
        self.clock: SandboxClock = sandbox.clock
        self.on_the_wire = kind == "rabbitmq"
        self.name = f"input-{new_uuid()[:8]}"
        self._sandbox = sandbox
        self._since = sandbox.control.last_event()
        self._opened: list[Channel] = []

    def create(self, shards: int = 1) -> None:
        if self.kind != "rabbitmq":
            self.call("CreateStream", ShardCount=shards)

    def open(self, checkpoints: Checkpoints | None = None, **options: Any) -> Channel:
        channel: Channel
        if self.kind == "rabbitmq":
            options.pop("attempts", None)
            channel = RabbitMQChannel(self._sandbox.broker(), self.name, clock=Clock(), **options)
        else:
            client = AwsEndpoint(self._sandbox.aws, REGION, self._sandbox.token).kinesis()
            channel = KinesisChannel(client, self.name, clock=Clock(), checkpoints=checkpoints, **options)
        self._opened.append(channel)
        return channel

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        return self._sandbox.call(operation, {"StreamName": self.name, **request})

    def split(self, shard: str, at: int) -> None:
        self.call("SplitShard", ShardToSplit=shard, NewStartingHashKey=str(at))

    def shards(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("ListShards")["Shards"]
        return found

    def fault(self, type_: str, **fields: Any) -> str:
        wanted = NewFault(type_, **{"channel": self.name, **fields})
        try:
            return self._sandbox.control.add_fault(wanted).name
        except RefusedError as error:
            raise FaultRefusedError(str(error)) from error

    def injected(self, name: str) -> int:
        return self._sandbox.control.fault(name).injected

    def injections(self) -> list[Event]:
        return self._events("fault.injected")

    def failures(self) -> list[Event]:
        return self._events("fault.failed")

    def meet(self, channel: Channel) -> None:
        """Let the sandbox see what kind of channel this is: somebody reads from it."""
        channel.read()

    def hurry(self) -> None:
        """Let the clock run so fast that minutes are seconds."""
        self.clock.run_at(_SPEED)

    @contextmanager
    def target(self) -> Iterator[str]:
        """The name of a process that does nothing."""
        self._process = subprocess.Popen(["sleep", "600"])
        self._did: list[str] = []
        assert self._sandbox.idle is not None
        self._sandbox.idle.write_text(str(self._process.pid))
        try:
            yield "idle"
        finally:
            self._process.kill()
            self._process.wait()

    def struck(self, count: int) -> list[str]:
        """What was done to the target so far, as its state shows it."""
        clock = Clock()
        while clock.elapsed() < _SETTLED_SECONDS and len(self._did) < count:
            if self._did:
                # What lasts may have begun to wait only now.
                self.clock.advance(5)
            self._look()
            clock.wait(0.01)
        return self._did

    def _look(self) -> None:
        if self._process.poll() is not None:
            self._did = ["kill"]
            return
        halted = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        if halted and not self._did:
            self._did = ["pause"]
        elif not halted and self._did:
            self._did = ["pause", "resume"]

    def close(self) -> None:
        for channel in self._opened:
            channel.close()

    def _events(self, kind: str) -> list[Event]:
        found = self._sandbox.control.events(after=self._since, limit=10_000)
        return [event for event in found if event.kind == kind and event.fields["channel"] == self.name]
