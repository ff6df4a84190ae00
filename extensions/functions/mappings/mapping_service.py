"""All mappings at work: made, changed, paused and removed, each with what runs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from emulator.channels.channel import Delivery
from emulator.clock import Clock
from emulator.events import Events
from emulator.http.daemon_threads import DaemonThreads
from emulator.streams.stream_service import StreamService
from extensions.functions.mappings.batches import GivenUp
from extensions.functions.mappings.destinations import Client, find_queue, send_document
from extensions.functions.mappings.mapping import Mapping
from extensions.functions.mappings.mapping_store import MappingStore
from extensions.functions.mappings.queue_runner import QueueRunner, read_visibility
from extensions.functions.mappings.source_events import failure_document, kinesis_event
from extensions.functions.mappings.stream_runner import StreamRunner
from extensions.functions.runtime.environment import Outcome
from extensions.functions.runtime.invoker import Invoker

_SENDING: Final = 8


class MappingService:
    """Runs what the ``store`` has. Its methods are called on one event loop, that of the ``invoker``.

    ``handed_over`` is told the records of each batch of a shard that a function took.
    """

    def __init__(
        self,
        store: MappingStore,
        invoker: Invoker,
        streams: StreamService,
        *,
        clock: Clock,
        events: Events,
        client: Client,
        handed_over: Callable[[Mapping, Sequence[Delivery]], None],
    ) -> None:
        self.store = store
        self._invoker = invoker
        self._streams = streams
        self._clock = clock
        self._events = events
        self._client = client
        self._handed_over = handed_over
        self._runners: dict[str, StreamRunner | QueueRunner] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._threads = DaemonThreads("destinations", _SENDING)
        self._background: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Run every mapping that is enabled, and does not run yet."""
        for mapping in self.store.list_in():
            if mapping.enabled and mapping.uuid not in self._runners:
                self._set_state(mapping.uuid, "Enabled")
                self._run(mapping.uuid)

    def list_hidden(self) -> list[tuple[Mapping, float]]:
        """The mappings of queues that were read, each with its queue's visibility time-out in seconds."""
        runners = [(self.store.find(uuid), runner) for uuid, runner in tuple(self._runners.items())]
        return [
            (mapping, runner.hidden)
            for mapping, runner in runners
            if mapping is not None and isinstance(runner, QueueRunner) and runner.hidden is not None
        ]

    def create(self, mapping: Mapping) -> Mapping:
        """Keep a new mapping, and begin to run it unless it is disabled. What is returned is Creating."""
        mapping.modified = self._clock.time()
        self.store.put(mapping)
        if mapping.service == "kinesis" and mapping.start == "LATEST":
            self._make_stream_runner(mapping).find_ends()
        made = msgspec.structs.replace(mapping)
        self._later(mapping.uuid, "Enabled" if mapping.enabled else "Disabled")
        return made

    def update(self, mapping: Mapping, *, transition: str) -> Mapping:
        """Keep changed settings; they apply once what is under way has ended."""
        mapping.state, mapping.modified = transition, self._clock.time()
        self.store.put(mapping)
        made = msgspec.structs.replace(mapping)
        self._later(mapping.uuid, "Enabled" if mapping.enabled else "Disabled")
        return made

    def delete(self, mapping: Mapping) -> Mapping:
        mapping.state, mapping.modified, mapping.enabled = "Deleting", self._clock.time(), False
        self.store.put(mapping)
        made = msgspec.structs.replace(mapping)
        self._later(mapping.uuid, "")
        return made

    async def find_visibility(self, region: str, name: str) -> float | None:
        """The visibility time-out of a queue in seconds; None where SQS has no queue of this name."""

        def find() -> float | None:
            url = find_queue(self._client, region, name)
            return None if url is None else read_visibility(self._client("sqs", region), url)

        return await self._threads.run(find)

    async def finish(self) -> None:
        """Stop all, and return when the invocations that are under way have ended by themselves."""
        stopping = [self._stop(uuid) for uuid in tuple(self._runners)]
        await asyncio.gather(*stopping, *self._background, return_exceptions=True)

    async def stop(self) -> None:
        """Stop all at once: what is under way is ended, and what it was about is handed over again."""
        stopping = [asyncio.ensure_future(self._stop(uuid)) for uuid in tuple(self._runners)]
        # Each runner notes that it stops before an invocation of its is ended.
        await asyncio.sleep(0)
        await self._invoker.end_all()
        await asyncio.gather(*stopping, *self._background, return_exceptions=True)

    def _later(self, uuid: str, state: str) -> None:
        """Bring a mapping into a state; with an empty one, remove it."""
        task = asyncio.ensure_future(self._transit(uuid, state))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _transit(self, uuid: str, state: str) -> None:
        async with self._locks.setdefault(uuid, asyncio.Lock()):
            await self._stop(uuid)
            if not state:
                self.store.remove(uuid)
            else:
                self._set_state(uuid, state)
                if state == "Enabled":
                    self._run(uuid)

    async def _stop(self, uuid: str) -> None:
        runner = self._runners.pop(uuid, None)
        if runner is not None:
            await runner.stop()

    def _set_state(self, uuid: str, state: str) -> None:
        mapping = self.store.find(uuid)
        if mapping is not None and mapping.state != state:
            mapping.state, mapping.modified = state, self._clock.time()
            self.store.put(mapping)

    def _run(self, uuid: str) -> None:
        mapping = msgspec.structs.replace(self.store.get(uuid))
        runner = self._runners[uuid] = self._make_runner(mapping)
        runner.start()

    def _make_runner(self, mapping: Mapping) -> StreamRunner | QueueRunner:
        if mapping.service == "kinesis":
            return self._make_stream_runner(mapping)
        tell = partial(self._tell, mapping.uuid)
        return QueueRunner(
            mapping, self._client, self._clock, invoke=partial(self._invoke, mapping), report=tell
        )

    def _make_stream_runner(self, mapping: Mapping) -> StreamRunner:
        return StreamRunner(
            mapping,
            self._streams,
            self.store,
            self._clock,
            invoke=partial(self._invoke, mapping),
            give_up=partial(self._give_up, mapping),
            report=partial(self._tell, mapping.uuid),
            handed_over=partial(self._handed_over, mapping),
        )

    async def _invoke(self, mapping: Mapping, event: bytes) -> Outcome:
        outcome, _ = await self._invoker.invoke(mapping.place, mapping.qualifier, event)
        return outcome

    def _tell(self, uuid: str, result: str) -> None:
        """Note what came of the last invocation. A change is an event."""
        mapping = self.store.find(uuid)
        if mapping is not None and mapping.result != result:
            mapping.result = result
            self._events.emit("mapping.result", mapping=uuid, function=mapping.function, result=result)

    async def _give_up(self, mapping: Mapping, given_up: GivenUp) -> None:
        """Tell the on-failure destination of records that are not tried again."""
        records = given_up.records
        where = {"shard": records[0].shard, "first": records[0].sequence_number, "records": len(records)}
        self._events.emit(
            "mapping.gave_up",
            mapping=mapping.uuid,
            function=mapping.function,
            why=given_up.condition,
            **where,
        )
        if not mapping.on_failure:
            return
        now = self._clock.time()
        document = failure_document(mapping, given_up, now)
        if mapping.on_failure.split(":")[2] == "s3":
            # A bucket gets the records too (Lambda, "on-failure destinations").
            document["payload"] = json.dumps(kinesis_event(mapping, records))
        prefix = f"aws/lambda/{mapping.uuid}/{records[0].shard}"
        wrong = await self._threads.run(
            lambda: send_document(self._client, mapping.on_failure, document, prefix, now)
        )
        if wrong:
            self._events.emit("mapping.destination_failed", mapping=mapping.uuid, why=wrong)
