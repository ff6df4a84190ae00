"""Topics against the simplest thing that could be right: a dictionary, and the whole history in a list."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from emulator.clock import Clock
from emulator.events import Events
from emulator.filters import compile_filter
from extensions.topics.engine import checkpoints
from extensions.topics.engine.commands import (
    DeltaPublish,
    Publish,
    Sow,
    SowAndSubscribe,
    SowDelete,
    Subscribe,
)
from extensions.topics.engine.outgoing_messages import OofMessage, PublishMessage, SowMessage
from extensions.topics.engine.topic_definitions import ConflatedTopic, Topic, View, ViewColumn
from extensions.topics.engine.topics_engine import TopicsEngine
from tests.extensions.topics.engine.topics_world import NOON, Client, raw, said

DEFINITIONS = (
    Topic(name="objects", keys=("/id",), logged=True, expiration=0),
    View(
        name="kinds",
        of=("objects",),
        keys=("/kind",),
        columns=(ViewColumn(name="n", path="/id", aggregate="count"),),
    ),
    ConflatedTopic(name="slow", of="objects", interval=2),
)
FILTERS = (
    "",
    "/kind = 'a'",
    "/size > 3",
    "/size = 2 AND /kind = 'b'",
    "/id IN (1, 2)",
    "NOT /kind = 'a'",
    "/n = 1",
)
IDS = st.integers(1, 4)
KINDS = st.sampled_from(["a", "b"])
SIZES = st.integers(0, 6)

State = dict[str, Any]


class Watcher:
    """A client that keeps a table of records from nothing but what one subscription is sent."""

    def __init__(self, topics: TopicsEngine, topic: str, filtered: str) -> None:
        self.topic = topic
        self.filtered = filtered
        self.client = Client(topics, "watcher")
        self.client.do(SowAndSubscribe(topic, filter=filtered, sub_id="s", opts="oof", batch_size=3))
        self._table: State = {}
        self._read = 0

    def table(self) -> State:
        """Its records by key, up to now."""
        inbox = self.client.inbox
        for message in inbox[self._read :]:
            if isinstance(message, SowMessage):
                self._table |= {record.sow_key: said(record) for record in message.data}
            elif isinstance(message, PublishMessage):
                self._table[message.sow_key] = said(message)
            elif isinstance(message, OofMessage):
                del self._table[message.sow_key]
        self._read = len(inbox)
        return self._table


class AgainstAModel(RuleBasedStateMachine):
    """``records`` and ``lives`` are the model; ``states`` the state of the world at each bookmark."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.lives_lived = 0
        self.between = checkpoints.ENTRIES_BETWEEN
        checkpoints.ENTRIES_BETWEEN = 7
        self.clock = Clock(frozen_at=NOON)
        self.records: dict[int, State] = {}
        self.lives: dict[int, float] = {}
        self.keys: dict[int, str] = {}
        self.states: list[tuple[str, State]] = [("0", {})]
        self.watchers: list[Watcher] = []
        self.log: list[State] = []
        self.open()

    @property
    def directory(self) -> Path:
        return Path(self.folder.name) / str(self.lives_lived)

    def open(self) -> None:
        self.topics = TopicsEngine(self.directory, self.clock, Events(self.clock), DEFINITIONS)
        self.ann = Client(self.topics, "ann")
        self.everything = Client(self.topics, "everything")
        self.everything.do(Subscribe("objects", sub_id="s"))
        self.watchers = []

    def teardown(self) -> None:
        if hasattr(self, "topics"):
            self.topics.close()
            self.folder.cleanup()
            checkpoints.ENTRIES_BETWEEN = self.between

    @rule(number=IDS, kind=KINDS, size=SIZES, life=st.sampled_from([None, 0, 1, 3]), whole=st.booleans())
    def publish(self, number: int, kind: str, size: int, life: float | None, whole: bool) -> None:
        fields = {"id": number, "kind": kind, "size": size} if whole else {"id": number, "size": size}
        self.say(Publish("objects", raw(**fields), expiration=life), fields, life)

    @rule(number=IDS, kind=KINDS, life=st.sampled_from([None, 2]))
    def delta(self, number: int, kind: str, life: float | None) -> None:
        fields = {"id": number, "kind": kind}
        merged = self.records.get(number, {}) | fields
        self.say(DeltaPublish("objects", raw(**fields), expiration=life), merged, life)

    def say(self, command: Publish, record: State, life: float | None) -> None:
        number = record["id"]
        self.ann.do(command)
        message = self.everything.published[-1]
        assert said(message) == record
        self.log.append(record)
        self.records[number] = record
        self.lives[number] = self.clock.time() + life if life else float("inf")
        self.keys[number] = message.sow_key
        self.states.append((message.bookmark, self.now()))

    @rule(filtered=st.sampled_from(FILTERS[1:]))
    def delete(self, filtered: str) -> None:
        self.ann.do(SowDelete("objects", filter=filtered))
        self.forget([number for number, record in self.records.items() if compile_filter(filtered)(record)])

    @rule(seconds=st.sampled_from([0.5, 1.0, 2.0]))
    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.topics.tend()
        self.forget([number for number, end in self.lives.items() if end <= self.clock.time() + 0.001])

    def forget(self, numbers: list[int]) -> None:
        for number in numbers:
            del self.records[number], self.lives[number]
        if numbers:
            self.states.append((self.topics.history("objects")[-1].bookmark, self.now()))

    def now(self) -> State:
        return {self.keys[number]: record for number, record in self.records.items()}

    @precondition(lambda self: len(self.watchers) < 4)
    @rule(topic=st.sampled_from(["objects", "kinds", "slow"]), filtered=st.sampled_from(FILTERS))
    def watch(self, topic: str, filtered: str) -> None:
        self.watchers.append(Watcher(self.topics, topic, filtered))

    @precondition(lambda self: self.watchers)
    @rule(which=st.integers(0, 3))
    def stop_watching(self, which: int) -> None:
        self.watchers.pop(which % len(self.watchers)).client.session.close()

    @rule()
    def restart(self) -> None:
        self.topics.close()
        self.open()

    @rule()
    def die(self) -> None:
        """Go on from what is on the disk at this moment."""
        died = self.topics
        left = self.directory
        self.lives_lived += 1
        if left.exists():
            shutil.copytree(left, self.directory)
        died.close()
        self.open()

    @invariant()
    def the_state_of_the_world_is_the_models(self) -> None:
        if hasattr(self, "topics"):
            asked = Client(self.topics, "asking")
            asked.do(Sow("objects"))
            assert by_key(asked) == self.now()

    @invariant()
    def the_view_is_what_the_records_come_to(self) -> None:
        if hasattr(self, "topics"):
            asked = Client(self.topics, "asking")
            asked.do(Sow("kinds"))
            kinds = [record.get("kind") for record in self.records.values()]
            assert {row["kind"]: row["n"] for row in asked.records} == Counter(kinds)

    @invariant()
    def every_watchers_table_is_the_answer_to_its_query(self) -> None:
        for watcher in getattr(self, "watchers", ()):
            asked = Client(self.topics, "asking")
            asked.do(Sow(watcher.topic, filter=watcher.filtered, batch_size=2))
            assert watcher.table() == by_key(asked), (watcher.topic, watcher.filtered)

    @invariant()
    def what_happened_since_any_bookmark_makes_the_state_of_now(self) -> None:
        if not hasattr(self, "topics"):
            return
        for bookmark, state in self.states[:: max(1, len(self.states) // 5)]:
            made = dict(state)
            for change in self.topics.history("objects", after=bookmark):
                if change.kind == "published":
                    made[change.sow_key] = said(change)
                else:
                    del made[change.sow_key]
            assert made == self.now(), bookmark

    @invariant()
    def a_replay_has_every_message_since_its_bookmark(self) -> None:
        if hasattr(self, "topics"):
            late = Client(self.topics, "late")
            late.do(Subscribe("objects", sub_id="s", bookmark="0"))
            assert [said(message) for message in late.published] == self.log


def by_key(client: Client) -> State:
    return {record.sow_key: said(record) for message in client.all(SowMessage) for record in message.data}


AgainstAModel.TestCase.settings = settings(
    max_examples=60, stateful_step_count=25, suppress_health_check=list(HealthCheck)
)
TestAgainstAModel = AgainstAModel.TestCase
