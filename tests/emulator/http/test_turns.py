"""One connection's work is done in slices, with everybody else's in between."""

from __future__ import annotations

import asyncio

from emulator.http.bounds.client_limits import YOUNG_REQUESTS
from emulator.http.bounds.request_queue import RequestQueue
from emulator.http.bounds.turns import Inflow, Piece, Turns


class Transport:
    """Counts how often it was paused and resumed."""

    def __init__(self) -> None:
        self.reading = True
        self.closing = False

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.closing


class Reader:
    """Takes two bytes at a time, and notes whose they were."""

    def __init__(self, turns: Turns, name: str, seen: list[str]) -> None:
        self.transport = Transport()
        self.inflow = Inflow(turns, self.transport, self._take)
        self._name = name
        self._seen = seen

    def _take(self, data: Piece) -> int:
        if len(data) < 2:
            return 0
        self._seen.append(self._name + bytes(data[:2]).decode())
        return 2


async def until_idle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_connections_take_turns_slice_by_slice() -> None:
    """The first slice at once, the others in rounds, and nothing is read meanwhile."""
    seen: list[str] = []
    turns = Turns()
    a, b = Reader(turns, "a", seen), Reader(turns, "b", seen)
    a.inflow.feed(b"112233")
    b.inflow.feed(b"112233")
    assert seen == ["a11", "b11"]
    assert not a.transport.reading
    await until_idle()
    assert seen == ["a11", "b11", "a22", "b22", "a33", "b33"]
    assert a.transport.reading
    assert b.transport.reading


async def test_what_is_held_waits_and_is_taken_in_its_order() -> None:
    """Bytes that came before a hold, and those that come in spite of it, are kept."""
    seen: list[str] = []
    reader = Reader(Turns(), "", seen)
    reader.inflow.feed(b"1122")
    reader.inflow.hold("a reason")
    reader.inflow.feed(b"3")
    await until_idle()
    assert seen == ["11"]
    assert not reader.transport.reading
    reader.inflow.release("another reason")
    reader.inflow.release("a reason")
    await until_idle()
    assert seen == ["11", "22"]
    assert reader.transport.reading
    reader.inflow.feed(b"3")
    assert seen == ["11", "22", "33"]


async def test_what_has_not_all_come_is_waited_for_without_a_turn() -> None:
    """Nothing is done with it before, and its connection is read on."""
    taken: list[bytes] = []

    def take(data: Piece) -> int:
        whole = len(data) // 4 * 4
        taken.append(bytes(data[:whole]))
        inflow.await_bytes(4 if len(data) > whole else 0)
        return whole

    transport = Transport()
    inflow = Inflow(Turns(), transport, take)
    inflow.feed(b"111122")
    assert transport.reading
    assert inflow.keep(b"2")
    assert not inflow.keep(b"2")
    assert taken == [b"1111"]
    inflow.feed(b"2")
    assert taken == [b"1111", b"2222"]
    assert not inflow.keep(b"3")


async def test_what_fails_for_one_connection_is_not_the_others() -> None:
    """Its turn ends with the error, which the loop is told of; theirs come as before."""
    seen: list[str] = []
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
    turns = Turns()
    other = Reader(turns, "b", seen)

    def fail(data: Piece) -> int:
        if len(data) < 6:
            raise ValueError("inside")
        return 2

    failing = Inflow(turns, Transport(), fail)
    failing.feed(b"112233")
    other.inflow.feed(b"112233")
    await until_idle()
    other.inflow.feed(b"4455")
    await until_idle()

    assert [str(each) for each in told] == ["inside"]
    assert seen == ["b11", "b22", "b33", "b44", "b55"]


async def test_a_piece_that_is_still_in_hand_holds_nothing_up() -> None:
    """An error that is kept holds a piece of what was worked on; the rest is worked on all the same."""
    seen: list[bytes] = []
    kept: list[memoryview] = []

    def keep(data: Piece) -> int:
        kept.append(memoryview(data)[:2])
        seen.append(bytes(data[:2]))
        return 2

    inflow = Inflow(Turns(), Transport(), keep)
    inflow.feed(b"112233")
    await until_idle()
    assert seen == [b"11", b"22", b"33"]


async def test_a_connection_that_closes_has_no_more_turns() -> None:
    """What it sent last is not worked on."""
    seen: list[str] = []
    reader = Reader(Turns(), "", seen)
    reader.inflow.feed(b"112233")
    reader.transport.closing = True
    await until_idle()
    assert seen == ["11"]


async def test_requests_beyond_the_bound_begin_from_each_connection_in_its_turn() -> None:
    """One connection with hundreds does not keep another from its first; what lasts keeps nobody."""
    starts, begun = RequestQueue(), list[str]()
    forever, all_begun = asyncio.Event(), asyncio.Event()
    tasks: set[asyncio.Task[bool]] = set()

    def begin(name: str) -> None:
        begun.append(name)
        if len(begun) == YOUNG_REQUESTS + 101:
            all_begun.set()
        task = asyncio.ensure_future(forever.wait())
        tasks.add(task)
        starts.begun(task)  # type: ignore[arg-type]

    for _ in range(YOUNG_REQUESTS):
        assert starts.room
        begin("greedy")
    assert not starts.room
    for _ in range(100):
        starts.put("greedy", lambda: begin("greedy"))
    starts.put("modest", lambda: begin("modest"))
    async with asyncio.timeout(20):
        await all_begun.wait()
    assert begun.index("modest") == YOUNG_REQUESTS + 1
    forever.set()
    await asyncio.gather(*tasks)
