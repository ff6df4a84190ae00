"""Shards that share their payloads against a dictionary: whatever happens, each has what was put into it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from emulator.journal import Payloads, Segments
from emulator.journal.packed import PackedStorage
from emulator.kinesis.stored_records import data_spans
from emulator.rng import Chance
from tests.emulator.journal.test_payloads import line

NAMES = st.sampled_from(["a", "b", "c"])
SIZES = [10, 90, 400, 400, 3000] * 4
PAYLOADS = [Chance(8).draws("model", str(number)).randbytes(size) for number, size in enumerate(SIZES)]


class Sharing(RuleBasedStateMachine):
    """Put, pack, trim, delete and start again, with few payloads and small segments: much is shared."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.model: dict[str, list[bytes]] = {}
        self.shards: dict[str, Segments] = {}
        self.start()

    def start(self) -> None:
        self.payloads = Payloads(self.root)
        self.payloads.recover(careful=False)
        assert self.payloads.missing == ()
        for name in self.model:
            self.shards[name] = self.opened(name)

    def opened(self, name: str) -> Segments:
        return Segments(self.root / name, segment_bytes=4000)

    def teardown(self) -> None:
        self.payloads.close()
        shutil.rmtree(self.root)

    @rule(name=NAMES, chosen=st.lists(st.integers(0, len(PAYLOADS) - 1), min_size=1, max_size=10))
    def put(self, name: str, chosen: list[int]) -> None:
        if name not in self.shards:
            self.shards[name] = self.opened(name)
        records = self.shards[name]
        lines = [line(records.next + i, PAYLOADS[number]) for i, number in enumerate(chosen)]
        records.append(b"".join(lines), len(lines), sum(map(len, lines)), 1000 + records.next)
        self.model.setdefault(name, []).extend(lines)

    @rule(name=NAMES, rolled=st.booleans(), most=st.integers(1, 5))
    def pack(self, name: str, rolled: bool, most: int) -> None:
        records = self.shards.get(name)
        if records is None:
            return
        if rolled:
            records.roll(1)
        for _ in range(most):
            if (segment := records.cold) is not None:
                assert records.replace(segment, segment.pack(data_spans))

    @rule(name=NAMES, share=st.floats(0, 1))
    def trim(self, name: str, share: float) -> None:
        if name in self.shards:
            records = self.shards[name]
            records.trim(1000 + int(records.first + share * (records.next - records.first)))

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if name in self.shards:
            self.shards.pop(name).delete()
            del self.model[name]

    @rule(killed=st.booleans())
    def start_again(self, killed: bool) -> None:
        """With a segment packed whose log is still there, where it was killed."""
        before = {name: records.first for name, records in self.shards.items()}
        for records in self.shards.values():
            if killed and (segment := records.cold) is not None:
                segment.pack(data_spans)
            records.close()
        self.payloads.close()
        self.start()
        for name, first in before.items():
            # What was trimmed of a segment that is there is forgotten again by the next trim.
            self.shards[name].first = max(first, self.shards[name].first)
        self.only_what_is_needed()

    def only_what_is_needed(self) -> None:
        packed = [path for path in self.root.rglob("*.packed") if not path.with_suffix(".log").exists()]
        needed = {number for path in packed for number in PackedStorage.open(path)[0].files}
        assert {int(path.stem) for path in (self.root / "payloads").glob("*.payloads")} == needed

    @invariant()
    def each_has_what_was_put_into_it(self) -> None:
        for name, records in self.shards.items():
            lines: list[bytes] = []
            reached = records.first
            while reached < records.next:
                found = records.read(reached, 7, 1 << 30)
                lines += b"".join(found.parts).splitlines(keepends=True)
                reached = found.next
            assert lines == self.model[name][records.first - 1 :]


Sharing.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestSharing = Sharing.TestCase
