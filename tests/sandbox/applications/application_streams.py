"""An application with its receiver on streams in memory, and what is on them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.clock import Clock
from emulator.kinesis import Engine
from emulator.rng import new_uuid
from sandbox.gateway import Gateway, Machine
from sandbox.gateway.addresses import Addresses
from sandbox.gateway.outbox import Outbox
from sandbox.receiver import Application, MemoryOriginals, Receiver
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.repository import Repository
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from schemas.rdss.validation import judge

NOW = 1_780_000_000.0


STREAMS = ("input", "output", "error", "invalid")


@dataclass
class Streams:
    """Streams in memory, and what is on them."""

    folder: Path
    clock: Clock
    engine: Engine
    stack: ExitStack
    samples: Samples = field(default_factory=lambda: Samples(7, now=NOW))

    def channel(self, name: str, checkpoints: Any = None) -> MemoryChannel:
        return MemoryChannel(self.engine, name, clock=self.clock, checkpoints=checkpoints)

    def streams(self) -> list[str]:
        return [view.name for view in self.engine.streams(DEFAULT_SCOPE)]

    def put(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            raw = message if isinstance(message, bytes) else serialise(message)
            self.channel("input").publish(raw, "key")

    def on(self, name: str) -> list[dict[str, Any]]:
        """The messages on a stream, each of which must be valid, but for their errorCode."""
        found = [delivery.data for delivery in self.channel(name).read(limit=1000)]
        if name not in ("error", "invalid"):
            for raw in found:
                assert judge(raw).valid, judge(raw)
        import msgspec

        return [msgspec.json.decode(raw) for raw in found]

    def errors(self) -> list[str]:
        return [m["messageHeader"]["errorCode"] for name in ("error", "invalid") for m in self.on(name)]

    def open(self, make: Callable[[Repository, Outbox], Application]) -> Running:
        repository = self.stack.enter_context(closing(Repository(self.folder / "local.sqlite3", self.clock)))
        others = ("output", "error", "invalid")
        addresses = Addresses(self.streams, self.channel, repository, self.clock, others=others)
        outbox = Outbox(
            Gateway(self.channel("output"), repository, self.clock),
            self.clock,
            generator="Simulated application",
            machine=Machine("simulated", "localhost"),
            addresses=addresses,
        )
        application = make(repository, outbox)
        assembly = assembled_receiver(
            self.channel,
            MemoryOriginals(),
            stream="input",
            repository=repository,
            application=application,
            clock=self.clock,
            refused=getattr(application, "refuse", lambda *_: None),
        )
        return Running(repository, outbox, application, self.stack.enter_context(assembly))

    def create(self, files: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        message = self.samples.message("MetadataCreate", "dataset")
        message["messageBody"]["objectFile"] = files or []
        return message

    def update(self, previous: str, **fields: Any) -> dict[str, Any]:
        message = self.samples.message("MetadataUpdate", "dataset")
        related = message["messageBody"]["objectRelatedIdentifier"][0]["identifier"]
        related["identifierValue"] = previous
        message["messageBody"] |= {"objectFile": [], **fields}
        return message

    def about(self, message_type: str, object_uuid: str) -> dict[str, Any]:
        """A delete of, or request for, an object."""
        message = self.samples.message("MetadataDelete")
        message["messageHeader"] |= {"messageType": message_type, "messageId": new_uuid()}
        message["messageBody"] = {"objectUUID": object_uuid}
        return message


@dataclass
class Running:
    """An application and its receiver."""

    repository: Repository
    outbox: Outbox
    application: Any
    receiver: Receiver

    def run(self) -> None:
        """Take everything there is."""
        self.receiver.run(lambda: True, wait=0)
        self.outbox.flush()
