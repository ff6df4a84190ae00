"""Where a fault may strike: by direction, kind of channel and name, and while it is in force."""

from __future__ import annotations

from time import thread_time

import pytest

from emulator.faults.fault import Direction
from tests.emulator.faults.test_fault_engine import MESSAGES, Bed


@pytest.fixture
def bed() -> Bed:
    return Bed()


def may_strike(bed: Bed, direction: str, channel: str, kind: str) -> bool:
    return channel in bed.fault_engine.index(Direction(direction), kind)


def test_no_fault_may_strike_where_none_is(bed: Bed) -> None:
    """Nor does one for another channel, another direction, or another kind of channel."""
    assert not may_strike(bed, "publish", "input", "kinesis")
    bed.add("duplicate", channel="in*")
    bed.add("expire_iterator", channel="input")
    assert may_strike(bed, "publish", "input", "kinesis")
    assert not may_strike(bed, "publish", "output", "kinesis")
    assert may_strike(bed, "deliver", "input", "kinesis")
    assert not may_strike(bed, "deliver", "input", "memory")
    bed.fault_engine.clear()
    assert not may_strike(bed, "publish", "input", "kinesis")


def test_channels_that_come_and_go_are_all_told_apart(bed: Bed) -> None:
    """However many have been asked for, each is struck or spared as its name says."""
    bed.add("duplicate", channel="*7")
    asked = [f"channel-{number}" for number in range(2500)]
    for _ in range(2):
        struck = [name for name in asked if may_strike(bed, "publish", name, "memory")]
        assert struck == [name for name in asked if name.endswith("7")]


@pytest.mark.parametrize(
    "glob", ["*a" * 499 + "b", "*[a]" * 249 + "b", "*a*" * 332 + "?b", "*?" * 499 + "b"], ids=range(4)
)
def test_a_glob_is_matched_in_time_linear_in_the_text(bed: Bed, glob: str) -> None:
    """A channel's or a header's, whatever it is: the longest pattern against the longest name."""
    bed.add("duplicate", channel=glob)
    bed.add("duplicate", when={"match": {"channel": glob}})
    began = thread_time()
    assert not bed.publish(b"x", channel="a" * 1000).items[0].copies
    assert thread_time() - began < 5


def test_a_fault_that_is_over_may_strike_nobody(bed: Bed) -> None:
    """When its limit is reached, its time has passed, or it is disabled: the fast way is open again."""
    bed.add("duplicate", limit=1)
    bed.add("oversize", when={"for": "5s"})
    bed.add("corrupt", enabled=False)
    bed.publish(MESSAGES[0])
    assert may_strike(bed, "publish", "input", "memory")
    bed.clock.advance(6)
    assert not may_strike(bed, "publish", "input", "memory")
