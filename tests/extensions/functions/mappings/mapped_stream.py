"""A stream that is mapped to a handler of this process: the engine, the mappings and the clock are real."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine, Scope
from extensions.functions.engine.errors import ThrottledError
from extensions.functions.engine.function import Code, Place, Version
from extensions.functions.mappings.mapping import Mapping
from extensions.functions.mappings.mapping_service import MappingService
from extensions.functions.mappings.mapping_store import MappingStore
from extensions.functions.runtime.environment import Outcome
from rdss_sandbox.questions.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SCOPE = Scope("000000000000", "us-east-1")
SOURCE = "arn:aws:kinesis:us-east-1:000000000000:stream/readings"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:failures"
_VERSION = Version(
    runtime="python3.11", handler="h.handler", role="", code=Code("", 0), modified=0, revision=""
)
_PATIENCE_SECONDS = 0.5
Handler = Callable[[dict[str, Any]], Any]


class RefusedError(Exception):
    """Raised by a handler that is throttled: it is not invoked."""


class HandlerHere:
    """Invokes a handler of this process, in the place of the processes of functions."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.events: list[dict[str, Any]] = []
        self.running = 0
        self.most_running = 0

    async def invoke(self, place: Place, qualifier: str, payload: bytes) -> tuple[Outcome, Version]:
        del place, qualifier
        event = json.loads(payload)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(0)
            answer = json.dumps(self.handler(event)).encode()
        except RefusedError:
            raise ThrottledError("ConcurrentInvocationLimitExceeded") from None
        except Exception as error:  # noqa: BLE001 -- what a handler raises is its outcome
            self.events.append(event)
            return Outcome(json.dumps(str(error)).encode(), "Unhandled", (), "request", 0.0), _VERSION
        finally:
            self.running -= 1
        self.events.append(event)
        return Outcome(answer, "", (), "request", 0.0), _VERSION

    async def end_all(self) -> None:
        """Do nothing: nothing runs elsewhere."""


class Mailbox:
    """A queue's client that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def get_queue_url(self, **_named: object) -> dict[str, str]:
        return {"QueueUrl": "here"}

    def send_message(self, *, QueueUrl: str, MessageBody: str) -> None:  # noqa: N803 -- boto3's names
        del QueueUrl
        self.sent.append(json.loads(MessageBody))


class MappedStream:
    """The stream ``readings``, its handler, and what was sent to the queue of failures."""

    def __init__(self, handler: Handler, clock: Clock, store: MappingStore | None = None) -> None:
        self.clock = clock
        self.events = Events(clock)
        self.engine = Engine(None, clock, self.events, transition_seconds=0)
        self.engine.call("CreateStream", {"StreamName": "readings", "ShardCount": 1}, SCOPE)
        self.here = HandlerHere(handler)
        self.failures = Mailbox()
        self.store = store or MappingStore(None, fsync=False)
        self.service = self._make_service()

    def _make_service(self) -> MappingService:
        return MappingService(
            self.store,
            self.here,  # type: ignore[arg-type]
            self.engine,
            clock=self.clock,
            events=self.events,
            client=lambda _service, _region: self.failures,
            handed_over=lambda _mapping, _records: None,
        )

    def put(self, data: Iterable[str], key: str | None = None) -> None:
        """Put records, each under its own data as the key, unless one is given."""
        records = [{"Data": each.encode(), "PartitionKey": key or each} for each in data]
        for start in range(0, len(records), 500):
            asked = {"StreamName": "readings", "Records": records[start : start + 500]}
            answer = self.engine.call("PutRecords", asked, SCOPE)
            assert answer["FailedRecordCount"] == 0

    def map(self, **settings: Any) -> Mapping:
        """Make the mapping, which begins at once."""
        usual = {"batch_size": 100, "start": "TRIM_HORIZON", "on_failure": QUEUE}
        mapping = Mapping(
            uuid="m", account=SCOPE.account, region=SCOPE.region, source=SOURCE, function="f", modified=0,
            **{**usual, **settings},
        )  # fmt: skip
        return self.service.create(mapping)

    async def restart(self) -> None:
        """Stop as a process does that is asked to, and begin again with what was kept."""
        await self.service.stop()
        self.service = self._make_service()
        self.service.start()

    async def until(self, look: Callable[[], object], seconds: float = 30) -> None:
        """Let everything go on until ``look`` finds something.

        A frozen clock goes on by a second where nothing comes: who has just read looks again then.
        """
        deadline, patience = Deadline(seconds), Deadline(_PATIENCE_SECONDS)
        while not look():
            assert not deadline.passed, f"it did not come about: {self.store.list_in()}"
            if self.clock.state().frozen and patience.passed:
                self.clock.advance(1)
                patience = Deadline(_PATIENCE_SECONDS)
            await asyncio.sleep(0.002)

    async def until_state(self, state: str) -> None:
        await self.until(lambda: self.store.get("m").state == state)

    def processed(self) -> list[str]:
        """The data of the records of every event, in the order of the invocations."""
        return [each for event in self.here.events for each in data_of(event)]

    @classmethod
    @asynccontextmanager
    async def running(cls, handler: Handler, clock: Clock | None = None, **named: Any) -> AsyncIterator[Self]:
        """A mapped stream whose waits take no time, unless it is given another clock."""
        stream = cls(handler, clock or Clock(autojump=True), **named)
        try:
            yield stream
        finally:
            await stream.service.stop()
            stream.engine.close()


def data_of(event: dict[str, Any]) -> list[str]:
    """The data of an event's records."""
    return [b64decode(each["kinesis"]["data"]).decode() for each in event["Records"]]


def report_failed(event: dict[str, Any], bad: Callable[[str], bool]) -> dict[str, Any]:
    """The answer that reports every record with bad data."""
    failed = [each for each, data in zip(event["Records"], data_of(event), strict=True) if bad(data)]
    return {"batchItemFailures": [{"itemIdentifier": each["kinesis"]["sequenceNumber"]} for each in failed]}
