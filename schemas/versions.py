"""Versions of digital objects: which is the current one of a work ("Digital Object Versioning").

A version says by isNewVersionOf which one it replaces, and one that is published again, for who missed it,
by isPreviousVersionOf which one replaced it. Whatever was ever said counts, in whatever order it came: a
version that any other one follows is an older one, and a work has one current version.
"""

from __future__ import annotations

from collections import defaultdict
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

IS_NEW_VERSION_OF: Final = "isNewVersionOf"
IS_PREVIOUS_VERSION_OF: Final = "isPreviousVersionOf"


class Named(NamedTuple):
    """The objectUUIDs that an object names as those of its ``previous`` and of its ``following`` version."""

    previous: tuple[str, ...]
    following: tuple[str, ...]


def named_versions(body: Any) -> Named:
    """What any JSON says of versions; nothing where it has another form than an object's."""
    found: dict[str, list[str]] = {IS_NEW_VERSION_OF: [], IS_PREVIOUS_VERSION_OF: []}
    related = body.get("objectRelatedIdentifier") if isinstance(body, dict) else None
    for each in related if isinstance(related, list) else ():
        identifier = each.get("identifier") if isinstance(each, dict) else None
        if not isinstance(identifier, dict) or identifier.get("identifierType") != "UUID":
            continue
        relation, value = each.get("relationType"), identifier.get("identifierValue")
        if isinstance(relation, str) and relation in found and isinstance(value, str):
            found[relation].append(value)
    return Named(tuple(found[IS_NEW_VERSION_OF]), tuple(found[IS_PREVIOUS_VERSION_OF]))


class Told(NamedTuple):
    """All that is known of one version.

    ``published`` is when it was last published and ``deleted`` when a delete last named it, in seconds or any
    other order; None for never. ``previous`` and ``following`` are what it ever named as such.
    """

    uuid: str
    published: float | None = None
    deleted: float | None = None
    previous: Iterable[str] = ()
    following: Iterable[str] = ()


class VersionState(NamedTuple):
    """Where a version stands.

    ``number`` counts from 1, the ``first`` version of its line, which may be known by name only.
    ``replaced_by`` is the version that users see instead, or the one on the way to it: None for the
    ``current`` one of its work. ``deleted``: nobody is to see it.
    """

    uuid: str
    work: str
    first: str
    number: int
    replaced_by: str | None
    current: bool
    deleted: bool


def after_deletes(published: float, told: Iterable[Told]) -> float:
    """When a version was published that came behind any deletes of the same moment: just after them."""
    return nextafter(published, inf) if any(each.deleted == published for each in told) else published


def places(told: Iterable[Told]) -> dict[str, VersionState]:
    """The place of each version, of one work or many; the same for whatever order they are given in.

    A work is what is connected by being named. Its current version is one that no published version follows;
    of several, or of a circle, the one published last (then the one of the greater objectUUID). A delete of
    any version deletes the work, until its current version is published later than that.
    """
    known = {each.uuid: each for each in told}
    newer = _newer(known.values())
    groups = _circles(newer)
    lines = _lines(groups, newer, known)
    works: dict[str, list[_Line]] = defaultdict(list)
    roots = _works(newer)
    for line in lines:
        works[roots[line.members[0]]].append(line)
    return {place.uuid: place for lines in works.values() for place in _places_of_work(lines, known)}


class _Line:
    """Versions that follow one another in a circle, as a rule one; how far up the chain they are."""

    def __init__(self, members: list[str], latest: Told | None) -> None:
        self.members = members
        self.latest = latest
        self.ahead: Told | None = None
        self.depth = 1
        self.first = min(members)


def _order(told: Told) -> tuple[float, str]:
    return (told.published or 0.0, told.uuid)


def _newer(told: Iterable[Told]) -> dict[str, set[str]]:
    """For each version, also those known by name only, the ones that follow it."""
    newer: dict[str, set[str]] = defaultdict(set)
    for each in told:
        newer[each.uuid].update(each.following)
        for older in each.previous:
            newer[older].add(each.uuid)
        for later in each.following:
            newer[later].update(())
    for uuid, following in newer.items():
        following.discard(uuid)
    return newer


def _circles(newer: dict[str, set[str]]) -> list[list[str]]:
    """Tarjan's strongly connected components, each behind all that follow it."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: dict[str, None] = {}
    found: list[list[str]] = []
    for start in sorted(newer):
        if start in index:
            continue
        way = [(start, iter(sorted(newer[start])))]
        index[start] = low[start] = len(index)
        open_[start] = None
        while way:
            at, following = way[-1]
            for later in following:
                if later not in index:
                    index[later] = low[later] = len(index)
                    open_[later] = None
                    way.append((later, iter(sorted(newer[later]))))
                    break
                if later in open_:
                    low[at] = min(low[at], index[later])
            else:
                way.pop()
                if way:
                    low[way[-1][0]] = min(low[way[-1][0]], low[at])
                if low[at] == index[at]:
                    found.append(_popped(open_, at))
    return found


def _popped(open_: dict[str, None], until: str) -> list[str]:
    members = []
    while True:
        uuid, _ = open_.popitem()
        members.append(uuid)
        if uuid == until:
            return sorted(members)


def _lines(groups: list[list[str]], newer: dict[str, set[str]], known: dict[str, Told]) -> list[_Line]:
    """The groups, newest first, with what lies ahead of each and how many lie behind it."""
    lines: list[_Line] = []
    following: list[set[int]] = []
    at: dict[str, int] = {}
    for members in groups:
        published = [known[uuid] for uuid in members if uuid in known and known[uuid].published is not None]
        line = _Line(members, max(published, key=_order, default=None))
        ahead = {at[later] for uuid in members for later in newer[uuid] if later in at}
        seen = [lines[each].latest or lines[each].ahead for each in ahead]
        line.ahead = max((each for each in seen if each is not None), key=_order, default=None)
        for uuid in members:
            at[uuid] = len(lines)
        lines.append(line)
        following.append(ahead)
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        for each in following[number]:
            later = lines[each]
            longer = line.depth + 1 > later.depth
            if longer or (line.depth + 1 == later.depth and line.first < later.first):
                later.depth, later.first = line.depth + 1, line.first
    return lines


def _works(newer: dict[str, set[str]]) -> dict[str, str]:
    """A name in common for all that is connected."""
    parent = {uuid: uuid for uuid in newer}

    def root(uuid: str) -> str:
        while parent[uuid] != uuid:
            parent[uuid] = uuid = parent[parent[uuid]]
        return uuid

    for uuid, following in newer.items():
        for later in following:
            parent[root(uuid)] = root(later)
    return {uuid: root(uuid) for uuid in newer}


def _places_of_work(lines: list[_Line], known: dict[str, Told]) -> list[VersionState]:
    tips = [line for line in lines if line.latest is not None and line.ahead is None]
    tip = max(tips, key=lambda line: _order(line.latest) if line.latest else (0.0, ""), default=None)
    current = tip.latest if tip else None
    members = [known[uuid] for line in lines for uuid in line.members if uuid in known]
    deleted = max((each.deleted for each in members if each.deleted is not None), default=None)
    work = tip.first if tip else min((-line.depth, line.first) for line in lines)[1]
    gone = _before(current, deleted)
    return [
        VersionState(
            uuid,
            work,
            line.first,
            line.depth,
            None if current is None or uuid == current.uuid else _instead(uuid, line, current),
            current is not None and uuid == current.uuid,
            gone or _before(known[uuid], deleted),
        )
        for line in lines
        for uuid in line.members
        if uuid in known
    ]


def _before(told: Told | None, deleted: float | None) -> bool:
    """Whether what was published was deleted later, or not published at all."""
    published = told.published if told else None
    return deleted is not None and (published is None or published <= deleted)


def _instead(uuid: str, line: _Line, current: Told) -> str:
    latest = line.latest
    if latest is not None and latest.uuid != uuid:
        return latest.uuid
    return (line.ahead or current).uuid
