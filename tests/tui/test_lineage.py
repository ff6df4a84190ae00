"""The family tree of shards."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rdss_sandbox.text.figures import shard as short
from tests.tui.canned import shard, stream
from tui.text.lineage import build_branches, hash_bounds


def lines(*shards: object) -> list[str]:
    """The tree as text."""
    return [
        branch.trunk + short(branch.shard.id) + "".join(f"+{short(other)}" for other in branch.others)
        for branch in build_branches([stream("s", tuple(shards))])  # type: ignore[arg-type]
        if branch.shard
    ]


def test_a_split_branches() -> None:
    """Both children hang under the shard that was split."""
    assert lines(
        shard(0, (), (1, 2), (0, 1, 1), 5), shard(1, (0,), (), (0, 1, 2), 1), shard(2, (0,), (), (1, 2, 2), 1)
    ) == [
        "└ 0000",
        "  ├ 0001",
        "  └ 0002",
    ]


def test_a_merge_names_its_other_parent() -> None:
    """A merged shard stands once, under one parent, with the other beside it."""
    drawn = lines(
        shard(0, (), (2,), (0, 1, 2), 5), shard(1, (), (2,), (1, 2, 2), 5), shard(2, (0, 1), (), (0, 1, 1), 0)
    )
    assert drawn == ["├ 0000", "│ └ 0002+0001", "└ 0001"]


def test_children_of_a_forgotten_shard_are_roots() -> None:
    """A parent past its retention is not listed any more; its children still are."""
    assert lines(shard(7, (3,), (), (0, 1, 1), 1)) == ["└ 0007"]


@given(st.lists(st.booleans(), max_size=40), st.randoms())
def test_every_shard_stands_exactly_once(splits: list[bool], draw: object) -> None:
    """Whatever was split and merged, each shard has one line and the open ones cover all hash keys."""
    parts = {0: (0, 1 << 12)}
    history: dict[int, tuple[tuple[int, ...], tuple[int, int]]] = {0: ((), parts[0])}
    children: dict[int, list[int]] = {}
    for split in splits:
        ordered = sorted(parts, key=lambda number: parts[number])
        at = draw.randrange(len(ordered))  # type: ignore[attr-defined]
        first, last = parts[ordered[at]]
        if split and last - first > 1:
            middle, made = (first + last) // 2, len(history)
            new = {made: (first, middle), made + 1: (middle, last)}
            parents: tuple[int, ...] = (ordered[at],)
        elif not split and at + 1 < len(ordered):
            new = {len(history): (first, parts[ordered[at + 1]][1])}
            parents = (ordered[at], ordered[at + 1])
        else:
            continue
        for parent in parents:
            del parts[parent]
            children.setdefault(parent, []).extend(new)
        parts |= new
        history |= {number: (parents, part) for number, part in new.items()}
    shards = tuple(
        shard(number, parents, tuple(children.get(number, ())), (*part, 1 << 12), 0)
        for number, (parents, part) in history.items()
    )
    drawn = [branch.shard for branch in build_branches([stream("s", shards)]) if branch.shard]
    assert sorted(each.id for each in drawn) == sorted(each.id for each in shards)
    assert sum(hash_bounds(each)[1] - hash_bounds(each)[0] for each in drawn if each.open) == 1
