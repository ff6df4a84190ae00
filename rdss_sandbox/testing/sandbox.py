"""The sandbox of a test: what the fixtures give, and a context manager without pytest, awaited or not."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import msgspec

from rdss_sandbox.aws_environment import pointed_at
from rdss_sandbox.questions.conditions import ConditionNotMetError, read_condition
from rdss_sandbox.questions.deadline import Deadline
from rdss_sandbox.questions.reject_queues import find_queue
from rdss_sandbox.shapes.messages import NewMessage, Sent
from rdss_sandbox.shapes.status import Reset
from rdss_sandbox.testing import assertions
from rdss_sandbox.testing.configuration import SERVICES, Configuration, read_configuration
from rdss_sandbox.testing.control import Faults, Resharding, SandboxClock
from rdss_sandbox.testing.findings import assert_no_findings
from rdss_sandbox.testing.processes import Process, Processes
from rdss_sandbox.testing.report import build_report
from rdss_sandbox.testing.stream_records import Record, RejectQueue, SandboxStream
from rdss_sandbox.text.durations import seconds

if TYPE_CHECKING:
    from rdss_sandbox.client import Client
    from rdss_sandbox.shapes.clock import ClockReading
    from rdss_sandbox.shapes.faults import Fault, NewFault
    from rdss_sandbox.shapes.streams import StreamDetail

Message: TypeAlias = bytes | str | Mapping[str, Any]
"""A payload as it is, or an object that is sent as JSON."""

_SEED_BYTES: Final = 4


class Sandbox:
    """A sandbox for the time of a ``with`` block, in a process of its own, in memory and on free ports.

    While it lasts, the AWS variables of this process's environment point at it, so that an AWS SDK needs no
    configuration. An exception that leaves the block has a note with what the sandbox saw.
    Entering raises ``SandboxNotStartedError``. ``Configuration`` says what can be configured.
    """

    def __init__(
        self,
        *,
        topology: str | None = None,
        contract: str | None = None,
        seed: int | None = None,
        limits: str | None = None,
        lambda_loaders: bool = False,
        services: Iterable[str] = (),
        faults: Iterable[str | Mapping[str, Any] | NewFault] = (),
        clock: str | None = None,
        snapshot: str | None = None,
    ) -> None:
        """Raises ``ConfigurationError`` for what no sandbox can have."""
        given = {
            "topology": topology,
            "contract": contract,
            "seed": seed,
            "limits": limits,
            "lambda_loaders": lambda_loaders,
            "services": tuple(services),
            "faults": tuple(faults),
            "clock": clock,
            "snapshot": snapshot,
        }
        self._configuration = read_configuration("Sandbox", given, directory=Path())
        self._shared: Processes | None = None
        self._process: Process | None = None

    @classmethod
    def configured(cls, configuration: Configuration, processes: Processes) -> Self:
        """A sandbox in one of these processes, for runners that have many tests."""
        made = cls()
        made._configuration, made._shared = configuration, processes
        return made

    def __enter__(self) -> Self:
        if self._process is not None:
            raise RuntimeError("the sandbox has started already: make another for a block inside of its own")
        seed = self._configuration.seed
        self.seed = int.from_bytes(os.urandom(_SEED_BYTES)) if seed is None else seed
        with ExitStack() as stack:
            self._process = self._take(stack)
            stack.enter_context(pointed_at(self.aws, self.region, self.token))
            self._begin()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, Exception):
            error.add_note(f"the sandbox (seed {self.seed}):\n{self.report()}")
        self._stack.close()
        self._process = None

    async def __aenter__(self) -> AsyncSandbox:
        await asyncio.to_thread(self.__enter__)
        return AsyncSandbox(self)

    async def __aexit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        await asyncio.to_thread(self.__exit__, _type, error, _traceback)

    @property
    def client(self) -> Client:
        """The client of the control API, for what has no shorter word here."""
        return self._entered.client

    @property
    def aws(self) -> str:
        """The URL of the AWS port."""
        return self._entered.running.aws

    @property
    def control(self) -> str:
        """The URL of the control API."""
        return self._entered.running.control

    @property
    def amqp(self) -> str:
        """The URL of the broker, as RabbitMQ's clients take it. Raises LookupError where none answers."""
        url = self._entered.running.amqp
        if url is None:
            raise LookupError("nothing answers AMQP: `sandbox status` says why")
        return url

    @property
    def queues(self) -> str:
        """The URL of the queues. Raises LookupError without the extension."""
        return _find_url("queues", self._entered.running.ports.get("queues"))

    @property
    def topics(self) -> str:
        """The URL of the topics. Raises LookupError without the extension."""
        return _find_url("topics", self._entered.running.ports.get("topics"))

    @property
    def region(self) -> str:
        """The AWS region of the streams."""
        return self._entered.running.region

    @property
    def token(self) -> str | None:
        """The token that every port asks for; None where none is needed."""
        return self._entered.running.token

    @property
    def pid(self) -> int:
        """The id of the sandbox's process."""
        return self._entered.running.pid

    @property
    def environment(self) -> dict[str, str]:
        """The environment for a process that is to use the sandbox: this process's own, pointed at it."""
        token = {} if self.token is None else {"SANDBOX_TOKEN": self.token}
        return {**os.environ, **token, "SANDBOX_CONTROL": self.control}

    @property
    def faults(self) -> Faults:
        """The faults in force."""
        return Faults(self.client)

    @property
    def clock(self) -> SandboxClock:
        """The sandbox's clock, on which everything in it waits."""
        return SandboxClock(self.client)

    @property
    def reshard(self) -> Resharding:
        """Splits, merges and scales the shards of a stream."""
        return Resharding(self.client)

    @property
    def error_queue(self) -> RejectQueue:
        """The stream of messages that were rejected for an error. Raises LookupError where there is none."""
        return self._reject_queue("error")

    @property
    def invalid_queue(self) -> RejectQueue:
        """The stream of messages that cannot be read. Raises LookupError where there is none."""
        return self._reject_queue("invalid")

    def stream(self, name: str) -> SandboxStream:
        """A stream by its name."""
        return SandboxStream(self.client, name)

    def send(
        self, messages: Message | Iterable[Message], stream: str = "input", *, key: str | None = None
    ) -> tuple[Sent, ...]:
        """Put a message, or several in their order, into a stream. Faults apply to them.

        The partition key is the messageId by default. Raises ``RefusedError`` with the code of Kinesis.
        """
        some = (messages,) if isinstance(messages, bytes | str | Mapping) else messages
        return tuple(self.client.send(NewMessage(stream, _encode(each), key)) for each in some)

    def processed(self, message_id: str) -> None:
        """Note that the application under test has processed this message; see ``assert_processed_once``."""
        self._processed.append(message_id)

    def wait_until(self, condition: str | Callable[[], Any], timeout: float | str = "10s") -> None:
        """Wait until a condition holds: a function returns what is true, or a sentence is.

        ``sandbox wait --help`` lists the sentences, such as ``error queue has 1 message``. The time-out is in
        real time, whatever the sandbox's clock shows. Raises ``ConditionNotMetError``, a TimeoutError that
        says what was seen last, and ``UnknownConditionError`` for another sentence.
        """
        __tracebackhide__ = True
        limit = seconds(timeout)
        deadline = Deadline(limit)
        if callable(condition):
            while not (answer := condition()):
                if deadline.passed:
                    raise ConditionNotMetError(f"after {limit:g} s the condition was still {answer!r}")
                deadline.pause()
            return
        look = read_condition(condition)
        while not (reading := look(self.client)).holds:
            if deadline.passed:
                raise ConditionNotMetError(f"after {limit:g} s: {reading.seen}; waited for: {condition}")
            deadline.pause()

    def assert_processed_once(self, ids: Iterable[str]) -> None:
        """Assert that each of these messages was told with ``processed`` exactly once."""
        __tracebackhide__ = True
        assertions.assert_processed_once(self.client, ids, tuple(self._processed))

    def assert_all_shards_read(self, stream: str) -> None:
        """Assert that every record of the stream was read, of shards that a split or a merge made too."""
        __tracebackhide__ = True
        assertions.assert_all_shards_read(self.client, stream)

    def assert_rejected(self, message_id: str, code: str | None = None) -> None:
        """Assert that the message is in the error or invalid queue, with this error code if one is given."""
        __tracebackhide__ = True
        assertions.assert_rejected(self.client, message_id, code)

    def assert_no_findings(self) -> None:
        """Assert that no client did what ``sandbox diagnose`` finds. Raises ``NotDiagnosedError``."""
        __tracebackhide__ = True
        assert_no_findings(self.client)

    def report(self) -> str:
        """What became of the messages, the faults, the readers and the last events, as lines of text."""
        return build_report(self.client, self._after)

    def _take(self, stack: ExitStack) -> Process:
        """Take a process that waits, or start one; ``stack`` gives it back or ends it."""
        processes = self._shared
        if processes is None:
            processes = Processes()
            stack.callback(processes.close)
        process = processes.take(self._configuration.options, self.seed)
        stack.callback(processes.give_back, process)
        return process

    def _begin(self) -> None:
        self._processed: list[str] = []
        status = self.client.reset(Reset(seed=self.seed, time=self._configuration.time))
        if self._configuration.snapshot is not None:
            self.client.snapshots.load(self._configuration.snapshot)
            if self._configuration.clock is not None:
                self.clock.set(self._configuration.clock)
            status = self.client.status()
        self._after = status.events
        for service in self._configuration.services:
            import boto3

            with closing(boto3.client(service)) as client:  # type: ignore[call-overload]
                getattr(client, SERVICES[service])()
        for fault in self._configuration.faults:
            self.client.add_fault(fault)

    @property
    def _entered(self) -> Process:
        if self._process is None:
            raise RuntimeError("the sandbox has not started: use it in a with block")
        return self._process

    def _reject_queue(self, queue: str) -> RejectQueue:
        name = find_queue(queue, self.client.status())
        if name is None:
            raise LookupError(f"the topology of this sandbox has no {queue} queue")
        return RejectQueue(self.client, name)


class AsyncSandbox:
    """``Sandbox`` with methods that are awaited, from ``async with Sandbox()`` or around a fixture's.

    ``sandbox`` is the one that it asks, each time on a thread, so that the event loop goes on.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.aws = sandbox.aws
        self.control = sandbox.control
        self.region = sandbox.region
        self.seed = sandbox.seed

    @property
    def amqp(self) -> str:
        """The URL of the broker. Raises LookupError where none answers."""
        return self.sandbox.amqp

    @property
    def queues(self) -> str:
        """The URL of the queues. Raises LookupError without the extension."""
        return self.sandbox.queues

    @property
    def topics(self) -> str:
        """The URL of the topics. Raises LookupError without the extension."""
        return self.sandbox.topics

    async def send(
        self, messages: Message | Iterable[Message], stream: str = "input", *, key: str | None = None
    ) -> tuple[Sent, ...]:
        return await asyncio.to_thread(self.sandbox.send, messages, stream, key=key)

    async def records(self, stream: str, matching: str = "") -> list[Record]:
        return await asyncio.to_thread(self.sandbox.stream(stream).records, matching)

    async def error_messages(self) -> list[Record]:
        return await asyncio.to_thread(_list_rejects, self.sandbox, "error")

    async def invalid_messages(self) -> list[Record]:
        return await asyncio.to_thread(_list_rejects, self.sandbox, "invalid")

    async def add_fault(self, fault: str | NewFault, **given: Any) -> Fault:
        return await asyncio.to_thread(self.sandbox.faults.add, fault, **given)

    async def remove_fault(self, name: str) -> Fault:
        return await asyncio.to_thread(self.sandbox.faults.remove, name)

    async def advance(self, duration: float | str) -> ClockReading:
        return await asyncio.to_thread(self.sandbox.clock.advance, duration)

    async def split(self, stream: str, shard: str | None = None) -> StreamDetail:
        return await asyncio.to_thread(self.sandbox.reshard.split, stream, shard)

    async def merge(self, stream: str, shard: str | None = None, adjacent: str | None = None) -> StreamDetail:
        return await asyncio.to_thread(self.sandbox.reshard.merge, stream, shard, adjacent)

    def processed(self, message_id: str) -> None:
        self.sandbox.processed(message_id)

    async def wait_until(self, condition: str | Callable[[], Any], timeout: float | str = "10s") -> None:  # noqa: ASYNC109 -- in real time, and told by what was seen
        """As ``Sandbox.wait_until``; a function is called on a thread."""
        await asyncio.to_thread(self.sandbox.wait_until, condition, timeout)

    async def assert_processed_once(self, ids: Iterable[str]) -> None:
        await asyncio.to_thread(self.sandbox.assert_processed_once, ids)

    async def assert_all_shards_read(self, stream: str) -> None:
        await asyncio.to_thread(self.sandbox.assert_all_shards_read, stream)

    async def assert_no_findings(self) -> None:
        await asyncio.to_thread(self.sandbox.assert_no_findings)

    async def assert_rejected(self, message_id: str, code: str | None = None) -> None:
        await asyncio.to_thread(self.sandbox.assert_rejected, message_id, code)


def _list_rejects(sandbox: Sandbox, queue: str) -> list[Record]:
    return (sandbox.error_queue if queue == "error" else sandbox.invalid_queue).messages()


def _find_url(extension: str, url: str | None) -> str:
    if url is None:
        raise LookupError(f"the extension {extension} is not there")
    return url


def _encode(message: Message) -> bytes:
    if isinstance(message, bytes):
        return message
    return message.encode() if isinstance(message, str) else msgspec.json.encode(message)
