"""Which version of a work is current, whatever was said of it in whatever order."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.rdss.versions import Knowledge, compute_version_states, named_versions

NAMES = "abcdef"
MOMENTS = st.one_of(st.none(), st.integers(0, 5).map(float))
TOLD = st.lists(
    st.builds(
        Knowledge,
        st.sampled_from(NAMES),
        MOMENTS,
        MOMENTS,
        st.lists(st.sampled_from(NAMES), max_size=3),
        st.lists(st.sampled_from(NAMES), max_size=2),
    ),
    unique_by=lambda told: told.uuid,
    max_size=6,
)


def related(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {
        "objectRelatedIdentifier": [
            {"relationType": relation, "identifier": {"identifierValue": value, "identifierType": "UUID"}}
            for relation, value in pairs
        ]
    }


def test_an_object_names_its_versions_by_their_uuids() -> None:
    """Other relations, and other kinds of identifier, name no version."""
    body = related(
        ("isNewVersionOf", "a"), ("cites", "x"), ("isPreviousVersionOf", "c"), ("isNewVersionOf", "b")
    )
    body["objectRelatedIdentifier"].append(
        {
            "relationType": "isNewVersionOf",
            "identifier": {"identifierValue": "10.1/x", "identifierType": "DOI"},
        }
    )
    assert named_versions(body) == (("a", "b"), ("c",))


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["objectRelatedIdentifier", "identifier", "relationType", "identifierType"]),
            inner,
        )
    ),
)


@given(JSON, JSON)
def test_any_json_names_versions_or_none(body: object, related: object) -> None:
    """What has another form names none, and nothing is raised."""
    named_versions(body)
    named_versions({"objectRelatedIdentifier": related})


@pytest.mark.parametrize(
    ("told", "current", "numbers"),
    [
        (
            [Knowledge("a", 1), Knowledge("b", 2, previous="a"), Knowledge("c", 3, previous="b")],
            "c",
            "a1 b2 c3",
        ),
        ([Knowledge("a", 9, following="b"), Knowledge("b", 2, previous="a")], "b", "a1 b2"),
        ([Knowledge("a", 9, following="b"), Knowledge("b", 2)], "b", "a1 b2"),
        ([Knowledge("a", 9, following="b")], "a", "a1"),
        (
            [Knowledge("a", 1), Knowledge("c", 3, previous="b"), Knowledge("b", 9, following="c")],
            "c",
            "b1 c2 a1",
        ),
        ([Knowledge("a", 9, following="b"), Knowledge("c", 3, previous="b")], "c", "a1 c3"),
        ([Knowledge("b", 2, previous="a"), Knowledge("c", 3, previous="a")], "c", "b2 c2"),
        ([Knowledge("a", 1, previous="a", following="a")], "a", "a1"),
        ([Knowledge("a", 1, previous="b"), Knowledge("b", 2, previous="a")], "b", "a1 b1"),
        (
            [
                Knowledge("a", 5, previous="b"),
                Knowledge("b", 2, previous="a"),
                Knowledge("c", 1, previous="a"),
            ],
            "c",
            "a1 b1 c2",
        ),
    ],
    ids=[
        "a chain",
        "published again and followed",
        "only the older one says so",
        "what follows has not come",
        "a gap that is filled later, behind",
        "a gap",
        "two claims of the same",
        "of itself",
        "a circle",
        "behind a circle",
    ],
)
def test_the_current_version_of_a_chain(told: list[Knowledge], current: str, numbers: str) -> None:
    """One, in any order of what was said; the others are replaced, at last by it."""
    for order in permutations(told):
        found = compute_version_states(order)
        work = found[current].work
        assert [p.uuid for p in found.values() if p.work == work and p.current] == [current]
        assert {f"{p.uuid}{p.number}" for p in found.values()} == set(numbers.split())


@given(TOLD, st.randoms())
def test_a_work_has_one_current_version_in_any_order(told: list[Knowledge], random: Any) -> None:
    """Of a work of which anything was published, else none; every other one leads to it."""
    shuffled = list(told)
    random.shuffle(shuffled)
    found = compute_version_states(told)
    assert found == compute_version_states(shuffled)
    assert found.keys() == {each.uuid for each in told}
    published = {each.uuid for each in told if each.published is not None}
    connected = _connected(told)
    for place in found.values():
        work = [each for each in found.values() if each.uuid in connected[place.uuid]]
        assert {each.work for each in work} == {place.work}
        assert sum(each.current for each in work) == bool(published & {each.uuid for each in work})
        at, steps = place, 0
        while at.replaced_by is not None:
            at, steps = found[at.replaced_by], steps + 1
            assert steps <= len(told)
        assert at.current or not any(each.current for each in work)


def _connected(told: list[Knowledge]) -> dict[str, set[str]]:
    """By brute force: who is in a work with whom."""
    groups = [{each.uuid, *each.previous, *each.following} for each in told]
    merged = True
    while merged:
        merged = False
        for one, other in permutations(groups, 2):
            if one & other and one is not other:
                groups.remove(other)
                one.update(other)
                merged = True
                break
    return {uuid: group for group in groups for uuid in group}


@pytest.mark.parametrize(
    ("told", "deleted"),
    [
        ([Knowledge("a", 1), Knowledge("b", 2, deleted=3, previous="a")], "ab"),
        ([Knowledge("a", 1, deleted=3), Knowledge("b", 2, previous="a")], "ab"),
        ([Knowledge("a", 1, deleted=3), Knowledge("b", 4, previous="a")], "a"),
        ([Knowledge("a", 5, following="b"), Knowledge("b", 2, deleted=3)], "ab"),
        ([Knowledge("a", 3, deleted=3)], "a"),
        ([Knowledge("a", None, deleted=3)], "a"),
        ([Knowledge("a", None)], ""),
    ],
    ids=[
        "the new one",
        "an old one",
        "published after it",
        "an old one again",
        "at once",
        "never seen",
        "not even deleted",
    ],
)
def test_a_delete_is_of_the_work_until_its_current_version_is_published_anew(
    told: list[Knowledge], deleted: str
) -> None:
    """Whichever version it names; an older one that is published again brings nothing back."""
    assert {p.uuid for p in compute_version_states(told).values() if p.deleted} == set(deleted)


def test_a_long_chain_takes_as_long_as_it_is() -> None:
    """Fifty thousand versions, the newest first, and no recursion."""
    count = 50_000
    told = [
        Knowledge(f"{n:06}", float(n), previous=[f"{n - 1:06}"] if n else ()) for n in reversed(range(count))
    ]
    found = compute_version_states(told)
    last = found[f"{count - 1:06}"]
    assert (last.number, last.first, last.current) == (count, "000000", True)
