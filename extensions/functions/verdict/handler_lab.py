"""The lab of a handler: a sandbox in which it is a function, and what its mapping hands over is written down.

put -> stream or queue -> mapping -> HandlerLab.watch -> the handler's process
                                     reads, answers, what was given up -> History
"""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from emulator.channels.aws_session import aws_session
from emulator.clock import stopwatch
from extensions.functions.component import FunctionComponent
from extensions.functions.function_service import FunctionService
from extensions.functions.mappings.batches import count_done
from extensions.functions.runtime.environment import Environment, Outcome
from extensions.functions.runtime.event_records import EventRecord, list_records
from extensions.functions.runtime.invoker import Proceed
from extensions.functions.verdict.deployment import Deployment
from extensions.functions.watched_function import WatchedFunction, find_arn
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.trace import Delivery, Disposition, Put, Read, Settlement
from sandbox.certify.client_process import ClientNotStartedError
from sandbox.certify.history import Injected
from sandbox.certify.kit_messages import POISON
from sandbox.certify.lab import INPUT, Lab
from schemas.contract import Contract, Sample

LOST_ANSWER: Final = "lost answer"
STANDSTILL: Final = "standstill"
LITTLE_TIME: Final = "little time"
"""What is done to an invocation: its answer is lost, its process stands still, to the end or nearly so."""
_HOLD_SECONDS: Final = 30.0
"""At most: a machine with much to do takes its time to put what is to come in one batch."""
_TIME_LEFT: Final = 0.6
"""The seconds that a process still has when it may go on after a standstill."""
_LOST: Final = json.dumps({"errorType": "Runtime.ExitError", "errorMessage": "the answer was lost"}).encode()


class HandlerLab(Lab):
    """A sandbox with a stream of two shards, which a mapping reads.

    ``broken`` says why the handler cannot be loaded. ``news`` counts what came of the handler so far, and
    ``on_time_out`` is called when an invocation was ended by its time-out.
    """

    def __init__(self, deployment: Deployment, seed: int, contract: Contract) -> None:
        super().__init__(seed, contract)
        self._deployment = deployment
        self.on_time_out: Callable[[], None] = lambda: None
        self.on_line: Callable[[str], None] = lambda _line: None
        self.broken = ""
        self.news = 0
        self._under_way: dict[Environment, asyncio.Event] = {}
        self._quiet_since = stopwatch()
        self._strikes: deque[str] = deque()
        self._service: FunctionService
        self._going = threading.Event()
        self._going.set()
        self._held = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the sandbox on free ports while the context lasts."""
        with super().running():
            component = self._emulator.components.extensions["functions"]
            assert isinstance(component, FunctionComponent)
            self._service = component.find_service()
            self._service.invoker.around = self.watch
            self._service.logs.heard = self._hear
            yield

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the function; Lambda's own lead it to the sandbox."""
        return {name: value for name, value in super().environment.items() if not name.startswith("AWS_")}

    def deploy(self, variables: Mapping[str, str]) -> None:
        """Make the function, with these variables, and its mapping. Raises ClientNotStartedError."""
        from botocore.exceptions import ClientError

        given = {"Variables": {**variables, **self._deployment.variables}}
        function = WatchedFunction(self.connect("lambda"), self._deployment.handler)
        try:
            function.create({**self._deployment.function, "Environment": given})
            function.read_from(self._make_source(), self._deployment.mapping)
        except ClientError as error:
            raise ClientNotStartedError(error.response["Error"].get("Message", str(error))) from error

    def end_environments(self) -> None:
        """End every process of the function, as a deployment does."""
        self._service.loop.run(self._service.invoker.end_all())

    def kill(self) -> None:
        """Kill the process of an invocation that is under way, or all that wait for one.

        All that they told before is heard when this returns.
        """
        self._service.loop.run(self._kill())

    def strike_next(self, what: str) -> None:
        """Have the next invocation with records struck so, in an environment that is warm."""
        self._strikes.append(what)

    @property
    def lanes(self) -> list[str]:
        """The place of each batch that may be under way beside others."""
        return self.open_shards()

    @contextmanager
    def gathering(self, send_to: Callable[[str], object]) -> Iterator[None]:
        """Hold up a batch in each lane while the context lasts, so that what is put then comes in one.

        ``send_to`` sends a message to a place.
        """
        self._held = 0
        self._going.clear()
        try:
            for count, place in enumerate(self.lanes, 1):
                send_to(place)
                self.wait(_HOLD_SECONDS, lambda count=count: self._held >= count)  # type: ignore[misc]
            yield
        finally:
            self._going.set()

    def owes(self) -> bool:
        """Whether something of the input is neither done with nor given up."""
        settled = {each.sequence_number for done in self.history.settlements() for each in done.records}
        return any(number not in settled for _, number in self.history.put_at)

    def seconds_quiet(self) -> float:
        """For how long nothing was invoked; 0 while an invocation is under way."""
        return 0.0 if self._under_way else stopwatch() - self._quiet_since

    def pass_time(self, seconds: float) -> None:
        """Let so many seconds of the sandbox's clock pass: pauses before retries, and the like."""
        self._emulator.components.clock.advance(seconds)
        self._quiet_since = stopwatch()

    def connect(self, service: str) -> Any:
        """A client of the sandbox for a service of AWS."""
        made: Any = aws_session("us-east-1").client(service, endpoint_url=self._emulator.aws)  # type: ignore[call-overload]
        return made

    def put_poison(self, data: bytes) -> None:
        """Put what is no message on the input."""
        self.put([Sample(data, "")])
        self.add(self.history.poison, [*self.history.put_at][-1][1])

    def put_in_order(self, messages: Sequence[Sample]) -> None:
        """Put messages under one key, where that leaves them their ids."""
        key, ids = messages[0].key, tuple(each.key for each in messages)
        if all(self.identify(each.data, key) == each.key for each in messages):
            self.history.ordered.append(ids)
            self.known.update(ids)
            messages = [Sample(each.data, key) for each in messages]
        self.put(messages)

    def keeps_poison(self) -> bool:
        settled = {each.sequence_number for done in self.history.settlements() for each in done.records}
        return not settled.issuperset(self.history.poison)

    def note_given_up(self) -> None:
        """Note what was given up since the last call. Of a stream events tell it at once."""

    def _make_source(self) -> str:
        """Make what the mapping reads, where it is not there; return its ARN."""
        return find_arn(self.connect, f"stream {INPUT}")

    # What mappings and processes do

    async def watch(self, environment: Environment, event: bytes, proceed: Proceed) -> Outcome:
        """Write down what is handed over, and what was answered. See ``Around``."""
        records = list_records(event)
        came = [
            (each.shard or INPUT, Delivery(each.number, self.identify(each.data, each.key)))
            for each in records
        ]
        self.note_records(records)
        self._under_way[environment] = ended = asyncio.Event()
        what = self._strikes.popleft() if self._strikes else ""
        self.news += 1
        for shard in dict.fromkeys(shard for shard, _ in came):
            given = tuple(each for place, each in came if place == shard)
            self.note_item(Read(self.now, self.life, INPUT, shard, records=given, pushed=True, owed=True))
        try:
            if not self._going.is_set():
                self._held += 1
                self.note(lambda _history: None)
                await asyncio.to_thread(self._going.wait, _HOLD_SECONDS)
            outcome = await self._strike(what, environment, came, proceed)
            await self._note_answer(environment, came, outcome)
        finally:
            self.news += 1
            self._quiet_since = stopwatch()
            del self._under_way[environment]
            ended.set()
        return outcome

    async def _kill(self) -> None:
        for environment, ended in self._under_way.items():
            environment.signal(signal.SIGKILL)
            await ended.wait()
            return
        await self._service.invoker.end_all()

    def note_records(self, records: Sequence[EventRecord]) -> None:
        """Note what is handed over, beside the history."""

    def list_done(self, answer: bytes, numbers: Sequence[str]) -> Sequence[str]:
        """The records that an answer with partial failures is done with, by their numbers."""
        return numbers[: count_done(answer, numbers)]

    async def _strike(
        self, what: str, environment: Environment, came: list[tuple[str, Delivery]], proceed: Proceed
    ) -> Outcome:
        if what in {STANDSTILL, LITTLE_TIME} and not environment.signal(signal.SIGSTOP):
            # A process that is not there cannot stand still.
            self._strikes.appendleft(what)
            return await proceed()
        if what == LITTLE_TIME:
            seconds = max(0.0, environment.program.timeout - _TIME_LEFT)
            asyncio.get_running_loop().call_later(seconds, environment.signal, signal.SIGCONT)
        at = self.now
        outcome = await proceed()
        for _, each in came if what else ():
            self.add(self.history.injected, Injected(at, what, each.message_id, self.level))
        if what == LOST_ANSWER and not outcome.error:
            return outcome._replace(payload=_LOST, error="Unhandled")
        return outcome

    async def _note_answer(
        self, environment: Environment, came: list[tuple[str, Delivery]], outcome: Outcome
    ) -> None:
        if outcome.error:
            self.broken = environment.init_failure
            self._note_failure(outcome)
            return
        at, numbers = self.now, [each.sequence_number for _, each in came]
        done = set(
            self.list_done(outcome.payload, numbers)
            if self._deployment.report_batch_item_failures
            else numbers
        )
        if not done.isdisjoint(self.history.poison):
            await self._note_copies()
        for _, each in came:
            if each.sequence_number in done:
                self.note_item(Settlement(at, self.life, INPUT, Disposition.ACK, (each,)))

    def _note_failure(self, outcome: Outcome) -> None:
        error = json.loads(outcome.payload)
        why = f"{error.get('errorType')}: {error.get('errorMessage')}"
        self.note(lambda history: history.failures.update([why]))
        if error.get("errorType") == "Sandbox.Timedout":
            self.on_time_out()

    async def _note_copies(self) -> None:
        """Note what lies in queues and buckets, where the handler may have put poison."""
        found = await asyncio.to_thread(self._find_copies)
        if found:
            self.note_item(Put(self.now, self.now, self.life, found, ()))

    def _find_copies(self) -> str:
        """The name of a queue or a bucket that has poison in it; empty where there is none."""
        sqs, s3 = self.connect("sqs"), self.connect("s3")
        for url in sqs.list_queues().get("QueueUrls", ()):
            name = url.rpartition("/")[2]
            held = (
                {}
                if name in self.own_queues
                else sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
            )
            if any(POISON.decode() in each["Body"] for each in held.get("Messages", ())):
                return str(name)
        for bucket in (each["Name"] for each in s3.list_buckets()["Buckets"]):
            for key in (each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", ())):
                if POISON in s3.get_object(Bucket=bucket, Key=key)["Body"].read():
                    return str(bucket)
        return ""

    own_queues: frozenset[str] = frozenset()
    """The queues that are not the handler's."""

    def _hear(self, _group: str, lines: Sequence[str]) -> None:
        for line in lines:
            self.on_line(line)

    def _note_event(self, event: Event) -> None:
        super()._note_event(event)
        if event.kind == "mapping.gave_up":
            shard, first, count = (event.fields[name] for name in ("shard", "first", "records"))
            numbers = [number for place, number in self.history.put_at if place == shard]
            start = numbers.index(first)
            self.give_up(numbers[start : start + count])

    def give_up(self, numbers: Sequence[str]) -> None:
        """Note that these records are handed over no more."""
        names = {each.sequence_number: each for read in self.history.reads() for each in read.records}
        for number in numbers:
            if number in names:
                self.note_item(Settlement(self.now, self.life, INPUT, Disposition.DISCARD, (names[number],)))
