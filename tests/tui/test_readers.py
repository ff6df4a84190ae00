"""Who reads the streams, and how far behind they are."""

from __future__ import annotations

import msgspec

from tests.tui.app_pilot import NARROW, opened, see, text_of, until
from tests.tui.canned import NOON, Canned, reader, shard, stream
from tui.text.lag import behind
from tui.widgets.reader_list import ReaderTable
from tui.widgets.stream_tree import StreamTree

NOW = NOON + 120


def test_a_shard_is_as_far_behind_as_its_slowest_live_reader() -> None:
    """Iterators that nobody uses any more do not count, subscriptions do; a stream adds up its shards."""
    readers = [
        reader("iterator", 0, 5, 1.0, 1.0),
        reader("iterator", 0, 9, 1.0, 1.0),
        reader("iterator", 0, 500, 90.0, 61.0),
        reader("iterator", 0, 400, 9.0, 1.0, reads=0),
        reader("subscription", 1, 3, 0.1, 0.0, reads=0),
        reader("consumer", None, 0, 0.0, 0.0),
    ]
    first, second = "input/shardId-000000000000", "input/shardId-000000000001"
    assert behind(readers, NOW) == {first: 9, second: 3, "input": 12}


def test_what_nobody_reads_waits_as_well() -> None:
    """A child that nobody reads waits, as do a shard that was left and what a reader passed over."""
    shards = [
        msgspec.structs.replace(shard(number, (), (), (number, number + 1, 4), 9), unread=unread)
        for number, unread in enumerate((7, 2, 0, None))
    ]
    readers = [reader("iterator", 0, 5, 1.0, 1.0), reader("iterator", 1, 0, 90.0, 61.0)]
    key = "input/shardId-00000000000{}".format
    assert behind(readers, NOW, [stream("input", tuple(shards))]) == {
        key(0): 7,
        key(1): 2,
        key(2): 0,
        "input": 9,
    }


async def test_readers_stand_beside_the_tree_those_furthest_behind_first(canned: Canned) -> None:
    """The tree says how many records wait, the list who they wait for."""
    async with opened(canned) as pilot:
        tree, readers = pilot.app.screen.query_one(StreamTree), pilot.app.screen.query_one(ReaderTable)
        await until(pilot, lambda: readers.total == 5)
        waiting = {line.branch.key: line.behind for line in tree._pages._held[0].values()}
        assert waiting["input/shardId-000000000004"] == 8
        assert waiting["input"] == 8
        assert waiting["output"] is None
        assert [line.reader.behind for line in readers._pages._held[0].values()] == [8, 2, 0, 120, 0]
        await see(pilot, "archivist")


async def test_readers_take_the_trees_place_on_a_small_screen(canned: Canned) -> None:
    """r shows who reads instead of the tree, and r again the tree."""
    async with opened(canned, size=NARROW) as pilot:
        readers = pilot.app.screen.query_one(ReaderTable)
        assert not readers.display
        await pilot.press("r")
        await until(pilot, lambda: "fan-out" in text_of(pilot) and pilot.app.focused is readers)
        await pilot.press("r")
        await until(pilot, lambda: isinstance(pilot.app.focused, StreamTree))
        assert not readers.display


async def test_an_upstream_that_does_not_say_who_reads_it(canned: Canned) -> None:
    """The list says so, rather than that nobody reads."""
    canned.readers_known = False
    async with opened(canned) as pilot:
        await until(pilot, lambda: "does not say who reads them" in text_of(pilot))
