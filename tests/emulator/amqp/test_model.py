"""A queue against a small model: whatever is done, in whatever order, also with a kill in between."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from emulator.amqp.store import message_store
from emulator.amqp.wire import methods as m
from tests.emulator.amqp.calls import get, publish, queue
from tests.emulator.amqp.engine_client import OwnBroker
from tests.emulator.amqp.raw_client import Came, build_properties

KEPT = build_properties(mode=2)


class QueueModel(RuleBasedStateMachine):
    """The model: numbers of messages that wait, in order, and of those that are out, by their tags."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory(prefix="amqp-model-")
        self.waiting: list[int] = []
        self.out: dict[int, int] = {}
        self.seen: set[int] = set()
        self.published = 0
        self.start()

    def start(self) -> None:
        self.own = OwnBroker(Path(self.folder.name))
        # A few bytes of memory, so that messages are read from the disk again and again.
        self.own.broker.vhost.store._memory_left = 2 * message_store.FILE_BYTES // (1 << 20)
        self.client = self.own.client()
        self.client.ask(queue(durable=True))
        self.client.ask(m.ConfirmSelect(False))

    @rule(count=st.integers(1, 5))
    def put(self, count: int) -> None:
        for _ in range(count):
            (confirm,) = self.client.publish(publish(), b"%d" % self.published, KEPT)
            assert isinstance(confirm, m.BasicAck)
            self.waiting.append(self.published)
            self.published += 1

    @rule()
    def take(self) -> None:
        came = self.client.ask(get())
        if not self.waiting:
            assert came == m.BasicGetEmpty("")
            return
        assert isinstance(came, Came)
        number = self.waiting.pop(0)
        assert (came.body, came.method.redelivered) == (b"%d" % number, number in self.seen)
        assert came.method.message_count == len(self.waiting)
        self.out[came.method.delivery_tag] = number
        self.seen.add(number)

    @precondition(lambda self: self.out)
    @rule(data=st.data(), multiple=st.booleans())
    def acknowledge(self, data: st.DataObject, multiple: bool) -> None:
        tag = data.draw(st.sampled_from(sorted(self.out)))
        self.client.say(m.BasicAck(tag, multiple))
        self.settle(tag, multiple)

    @precondition(lambda self: self.out)
    @rule(data=st.data(), multiple=st.booleans(), requeue=st.booleans())
    def refuse(self, data: st.DataObject, multiple: bool, requeue: bool) -> None:
        tag = data.draw(st.sampled_from(sorted(self.out)))
        self.client.say(m.BasicNack(tag, multiple, requeue))
        back = self.settle(tag, multiple)
        if requeue:
            self.waiting = sorted(self.waiting + back)

    @rule()
    def purge(self) -> None:
        assert self.client.ask(m.QueuePurge(0, "q1", False)) == m.QueuePurgeOk(len(self.waiting))
        self.waiting.clear()

    @rule(politely=st.booleans())
    def restart(self, politely: bool) -> None:
        if politely:
            self.own.broker.close()
        self.waiting = sorted(self.waiting + list(self.out.values()))
        self.out.clear()
        self.start()

    @invariant()
    def all_are_counted(self) -> None:
        counted = self.client.ask(queue(passive=True))
        assert counted.message_count == len(self.waiting)

    def settle(self, tag: int, multiple: bool) -> list[int]:
        tags = [each for each in self.out if each == tag or (multiple and each < tag)]
        return [self.out.pop(each) for each in tags]

    def teardown(self) -> None:
        self.own.broker.close()
        self.folder.cleanup()


QueueModel.TestCase.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestQueueModel = QueueModel.TestCase
