"""The message store against a small model: files shrink between all that is done, and are opened again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from emulator.amqp.message import Entry, Message
from emulator.amqp.store import message_file, message_store
from emulator.amqp.store.message_store import MessageStore
from emulator.amqp.turn import Turn


class ShortTurn(Turn):
    """A turn of one step."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = 0

    @property
    def is_over(self) -> bool:
        self._looks += 1
        return self._looks > 1


class StoreModel(RuleBasedStateMachine):
    """The model: what is held, by queue and number: its body, and how often it came back."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory(prefix="store-model-")
        self.patches = [
            patch.multiple(message_store, _LEAST_ROLLED=2_000),
            patch.multiple(
                message_file, _LEAST_BYTES=500, _STEP_BYTES=100, ITEMS_OF_A_STEP=1, _MARKS_OF_A_STEP=1
            ),
        ]
        for each in self.patches:
            each.start()
        # None for a message that was never delivered.
        self.held: dict[tuple[int, int], tuple[bytes, int | None]] = {}
        self.passing: set[tuple[int, int]] = set()
        self.entries: dict[tuple[int, int], Entry] = {}
        self.numbers = 0
        self.store = MessageStore(None)
        self.restart()

    @rule()
    def restart(self) -> None:
        """As after a kill: nothing is written at the end."""
        for place in self.passing:
            del self.held[place]
        self.passing.clear()
        self.store.close()
        self.store = MessageStore(Path(self.folder.name), file_bytes=10_000, memory_bytes=0)
        self.entries = {}
        for queue, entry, _, _ in self.store.recover():
            assert (queue, entry.number) not in self.entries
            self.entries[queue, entry.number] = entry
            self.store.count(entry)
        self.store.sweep()
        found = {
            place: (self.store.load(entry).body, entry.attempts if entry.redelivered else None)
            for place, entry in self.entries.items()
        }
        assert found == {
            place: (body, None if tried is None else tried + 1) for place, (body, tried) in self.held.items()
        }

    @rule(queues=st.integers(1, 3), size=st.integers(1, 1500), stored=st.booleans())
    def publish(self, queues: int, size: int, stored: bool) -> None:
        self.numbers += 1
        body = b"%06d" % self.numbers * (size // 6 + 1)
        message = Message("", ("k",), b"", body, persistent=True)
        places = [(queue, self.numbers) for queue in range(queues)]
        kept = [(*place, None) for place in places] if stored else []
        reference = self.store.append(message, kept, queues)
        for place in places:
            self.entries[place] = Entry(self.numbers, None, size=len(body), reference=reference)
            self.held[place] = body, None
            if not stored:
                self.passing.add(place)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), share=st.floats(0.1, 1))
    def settle(self, data: st.DataObject, share: float) -> None:
        places = sorted(self.held)
        spared = data.draw(st.integers(0, len(places) - 1))
        for at, (queue, number) in enumerate(places[: round(len(places) * share)]):
            if at != spared:
                place = queue, number
                self.store.settle(queue, self.entries.pop(place), durable=place not in self.passing)
                del self.held[place]
                self.passing.discard(place)
        self.store.commit()

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        queue, number = data.draw(st.sampled_from(sorted(self.held)))
        body, tried = self.held[queue, number]
        entry = self.entries[queue, number]
        entry.attempts = 0 if tried is None else tried + 1
        self.store.note_delivered(queue, entry)
        self.held[queue, number] = body, entry.attempts
        self.store.commit()

    @rule(steps=st.integers(1, 40))
    def shrink(self, steps: int) -> None:
        for _ in range(steps):
            self.store.proceed(ShortTurn())

    @rule()
    def shrink_all(self) -> None:
        """Then little more than what is held is on disk."""
        while self.store.is_busy:
            self.store.proceed(ShortTurn())
        for file in self.store._files.values():
            assert not file.is_sparse or file.messages.end < 2_000

    @invariant()
    def each_can_be_read(self) -> None:
        for place, entry in self.entries.items():
            assert self.store.load(entry).body == self.held[place][0]

    def teardown(self) -> None:
        self.store.close()
        for each in self.patches:
            each.stop()
        self.folder.cleanup()


StoreModel.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestStoreModel = StoreModel.TestCase
