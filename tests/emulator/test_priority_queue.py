"""The order of what is due: by rank, then as it was added."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.priority_queue import PriorityQueue

RANKS = st.lists(st.integers(0, 5).map(float), max_size=30)


@given(RANKS, st.integers(-1, 6))
def test_items_leave_by_rank_and_ties_as_they_were_added(ranks: list[float], until: int) -> None:
    """A queue gives what a stable sort gives, up to a rank and then one by one."""
    queue: PriorityQueue[int] = PriorityQueue()
    for number, rank in enumerate(ranks):
        queue.add(rank, number)
    ordered = sorted(range(len(ranks)), key=lambda number: ranks[number])
    taken = queue.pop_until(until)
    assert taken == [number for number in ordered if ranks[number] <= until]
    assert taken + [queue.pop() for _ in range(len(queue))] == ordered
    assert (queue.first, queue.lowest, len(queue)) == (None, None, 0)


@given(RANKS, st.data())
def test_a_copy_a_removal_and_a_replacement_keep_the_order(ranks: list[float], data: st.DataObject) -> None:
    """A copy is a queue of its own, what is removed is gone, and replaced items tie in their order."""
    items = [object() for _ in ranks]
    queue: PriorityQueue[object] = PriorityQueue()
    queue.replace(zip(ranks, items, strict=True))
    twin = queue.copy()
    ordered = [items[at] for at in sorted(range(len(ranks)), key=lambda at: ranks[at])]
    if items:
        gone = data.draw(st.sampled_from(items))
        queue.remove(gone)
        assert queue.pop_until(9) == [item for item in ordered if item is not gone]
    later = object()
    twin.add(0.0, later)
    zeros = sum(rank == 0 for rank in ranks)
    assert twin.pop_until(9) == [*ordered[:zeros], later, *ordered[zeros:]]
