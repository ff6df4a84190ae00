"""The message store against a small model: files shrink and are packed between all that is done, and are
opened again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from emulator.amqp.message import Entry, Message
from emulator.amqp.store import message_file, message_store, packed_messages
from emulator.amqp.store.message_file import MessageOnDisk
from emulator.amqp.store.message_store import MessageStore, Rests
from emulator.amqp.turn import Turn
from emulator.journal import Payloads
from emulator.journal.packed import PackedStorage


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
            patch.object(packed_messages, "_PAUSE_SECONDS", 0),
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
        self.payloads = Payloads(Path(self.folder.name))
        self.restart()

    @property
    def folder_of_store(self) -> Path:
        return Path(self.folder.name) / "broker"

    @rule()
    def restart(self) -> None:
        """As after a kill: nothing is written at the end."""
        for place in self.passing:
            del self.held[place]
        self.passing.clear()
        self.store.close()
        self.payloads.close()
        self.payloads = Payloads(Path(self.folder.name))
        self.payloads.recover(careful=False)
        self.store = MessageStore(
            self.folder_of_store, file_bytes=10_000, memory_bytes=0, rests=Rests(sparse=0, full=0)
        )
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

    @rule(count=st.integers(1, 10), queues=st.integers(1, 3), size=st.integers(1, 1500), stored=st.booleans())
    def publish(self, count: int, queues: int, size: int, stored: bool) -> None:
        for _ in range(count):
            self._publish(queues, size, stored=stored)

    def _publish(self, queues: int, size: int, *, stored: bool) -> None:
        self.numbers += 1
        body = b"%06d" % self.numbers * (size // 6 + 1)
        message = Message("", ("k",), b"", body, persistent=True)
        places = [(queue, self.numbers) for queue in range(queues)]
        kept = [(*place, None) for place in places] if stored else []
        reference = self.store.append([MessageOnDisk(kept, message)], queues)
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
                self.store.settle(queue, [self.entries.pop(place)], durable=place not in self.passing)
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
        self.store.note_delivered(queue, [entry])
        self.held[queue, number] = body, entry.attempts
        self.store.commit()

    @rule(steps=st.integers(1, 40))
    def shrink(self, steps: int) -> None:
        for _ in range(steps):
            self.store.proceed(ShortTurn())

    @rule()
    def shrink_all(self) -> None:
        """Then little more than what is held is on disk."""
        while self.store.is_busy or self.store.is_shrinking:
            self.store.proceed(ShortTurn())
        for file in self.store._files.values():
            assert not file.is_sparse or file.messages.end < 2_000

    @rule()
    def pack_all(self) -> None:
        """Each file that is full, or at rest, and still much held is compressed then."""
        while self.store.idle_seconds is not None:
            self.store.proceed(ShortTurn())
        for file in self.store._files.values():
            much = file.live_bytes > file.messages.end // 2
            # What a file shrinks to is not packed: it is less than a quarter of one.
            assert file.is_packed or not much or file.messages.end < 3_000
        # What was given up is removed by the thread that packs.
        message_store._PACKING.submit(lambda: None).result()
        packed = [PackedStorage.open(path)[0] for path in self.folder_of_store.glob("*.packed")]
        shared = {self.payloads.path_of(number) for each in packed for number in each.files}
        assert set(self.payloads.folder.glob("*")) == shared

    @invariant()
    def each_can_be_read(self) -> None:
        for place, entry in self.entries.items():
            assert self.store.load(entry).body == self.held[place][0]

    def teardown(self) -> None:
        self.store.close()
        self.payloads.close()
        for each in self.patches:
            each.stop()
        self.folder.cleanup()


StoreModel.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestStoreModel = StoreModel.TestCase
