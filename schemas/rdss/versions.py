"""Versions of digital objects and the current version of each work ("Digital Object Versioning").

A version names the version that it replaces by isNewVersionOf. A version that is published again may name
its replacement by isPreviousVersionOf. All statements count, in any order of arrival. A version that another
one follows is an older one, and a work has exactly one current version.
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
    """The objectUUIDs that an object names as its ``previous`` and its ``following`` versions."""

    previous: tuple[str, ...]
    following: tuple[str, ...]


def named_versions(body: Any) -> Named:
    """Read the versions that an object names; other JSON than an object names none."""
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


class Knowledge(NamedTuple):
    """What is known of one version.

    ``published`` is the time when it was last published, and ``deleted`` the time when a delete last named
    it, in seconds or any other ordered unit; None for never. ``previous`` and ``following`` are all versions
    that it named so far.
    """

    uuid: str
    published: float | None = None
    deleted: float | None = None
    previous: Iterable[str] = ()
    following: Iterable[str] = ()


class VersionState(NamedTuple):
    """The state of a version within its work.

    ``number`` counts from 1, the ``first`` version of its line, which may be known only by name.
    ``replaced_by`` is the current version, or a version on the way to it; None for the ``current`` version.
    A ``deleted`` version is hidden from users.
    """

    uuid: str
    work: str
    first: str
    number: int
    replaced_by: str | None
    current: bool
    deleted: bool


def after_deletes(published: float, knowledge: Iterable[Knowledge]) -> float:
    """The time of a publication that follows a delete at the same time: the next larger float."""
    return nextafter(published, inf) if any(each.deleted == published for each in knowledge) else published


def compute_version_states(knowledge: Iterable[Knowledge]) -> dict[str, VersionState]:
    """Compute the state of each version, of one or many works; the order of ``knowledge`` does not matter.

    A work is a connected component of versions that name one another. Its current version is the published
    version that no published version follows. Of several such versions, or in a circle, it is the one
    published last, then the one with the greater objectUUID. A delete of any version deletes the work until
    its current version is published later than the delete.
    """
    known = {each.uuid: each for each in knowledge}
    newer = _newer(known.values())
    groups = _circles(newer)
    lines = _lines(groups, newer, known)
    works: dict[str, list[_VersionLine]] = defaultdict(list)
    roots = _works(newer)
    for line in lines:
        works[roots[line.members[0]]].append(line)
    return {place.uuid: place for lines in works.values() for place in _states_of_work(lines, known)}


class _VersionLine:
    """A group of versions that follow one another in a circle, usually a single one, and its depth.

    ``latest`` is the member published last; ``ahead`` the last published version that follows the group.
    """

    def __init__(self, members: list[str], latest: Knowledge | None) -> None:
        self.members = members
        self.latest = latest
        self.ahead: Knowledge | None = None
        self.depth = 1
        self.first = min(members)


def _order(knowledge: Knowledge) -> tuple[float, str]:
    return (knowledge.published or 0.0, knowledge.uuid)


def _newer(knowledge: Iterable[Knowledge]) -> dict[str, set[str]]:
    """The versions that follow each version, those known only by name included."""
    newer: dict[str, set[str]] = defaultdict(set)
    for each in knowledge:
        newer[each.uuid].update(each.following)
        for older in each.previous:
            newer[older].add(each.uuid)
        for later in each.following:
            newer[later].update(())
    for uuid, following in newer.items():
        following.discard(uuid)
    return newer


def _circles(newer: dict[str, set[str]]) -> list[list[str]]:
    """Tarjan's strongly connected components; a component comes after all components that follow it."""
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
                    found.append(_pop_until(open_, at))
    return found


def _pop_until(open_: dict[str, None], until: str) -> list[str]:
    members = []
    while True:
        uuid, _ = open_.popitem()
        members.append(uuid)
        if uuid == until:
            return sorted(members)


def _lines(
    groups: list[list[str]], newer: dict[str, set[str]], known: dict[str, Knowledge]
) -> list[_VersionLine]:
    """The groups, newest first, each with what follows it and its depth."""
    lines: list[_VersionLine] = []
    following: list[set[int]] = []
    at: dict[str, int] = {}
    for members in groups:
        published = [known[uuid] for uuid in members if uuid in known and known[uuid].published is not None]
        line = _VersionLine(members, max(published, key=_order, default=None))
        ahead = {at[later] for uuid in members for later in newer[uuid] if later in at}
        latest = [lines[each].latest or lines[each].ahead for each in ahead]
        line.ahead = max((each for each in latest if each is not None), key=_order, default=None)
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
    """The root version of each connected component, by version (union-find)."""
    parent = {uuid: uuid for uuid in newer}

    def root(uuid: str) -> str:
        while parent[uuid] != uuid:
            parent[uuid] = uuid = parent[parent[uuid]]
        return uuid

    for uuid, following in newer.items():
        for later in following:
            parent[root(uuid)] = root(later)
    return {uuid: root(uuid) for uuid in newer}


def _states_of_work(lines: list[_VersionLine], known: dict[str, Knowledge]) -> list[VersionState]:
    tips = [line for line in lines if line.latest is not None and line.ahead is None]
    tip = max(tips, key=lambda line: _order(line.latest) if line.latest else (0.0, ""), default=None)
    current = tip.latest if tip else None
    members = [known[uuid] for line in lines for uuid in line.members if uuid in known]
    deleted = max((each.deleted for each in members if each.deleted is not None), default=None)
    work = tip.first if tip else min((-line.depth, line.first) for line in lines)[1]
    gone = _is_deleted(current, deleted)
    return [
        VersionState(
            uuid,
            work,
            line.first,
            line.depth,
            None if current is None or uuid == current.uuid else _replacement(uuid, line, current),
            current is not None and uuid == current.uuid,
            gone or _is_deleted(known[uuid], deleted),
        )
        for line in lines
        for uuid in line.members
        if uuid in known
    ]


def _is_deleted(knowledge: Knowledge | None, deleted: float | None) -> bool:
    """Whether a version was deleted after its publication, or was never published but deleted."""
    published = knowledge.published if knowledge else None
    return deleted is not None and (published is None or published <= deleted)


def _replacement(uuid: str, line: _VersionLine, current: Knowledge) -> str:
    latest = line.latest
    if latest is not None and latest.uuid != uuid:
        return latest.uuid
    return (line.ahead or current).uuid
