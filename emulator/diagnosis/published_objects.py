"""Which digital objects were published, under which objectUUID ("Digital Object Versioning").

An answer to a request publishes no version, and a part of a sequence has no body that can be read by itself.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec

from schemas.rdss.peek import Peek
from schemas.rdss.versions import IS_PREVIOUS_VERSION_OF, named_versions

MOST_OBJECTS: Final = 50_000
_MOST_SHOWN: Final = 100
_TYPES: Final = frozenset({"MetadataCreate", "MetadataUpdate"})


class Publication(NamedTuple):
    """Where a message lies. ``arrived`` is in seconds since the epoch; ``fault`` struck it on its way."""

    shard: str
    sequence_number: str
    message_id: str | None
    arrived: float
    fault: str


class _Version(NamedTuple):
    """A version as a message published it: what it says that it follows, and what its body holds."""

    place: Publication
    message_type: str
    previous: frozenset[str]
    digest: bytes


class PublishedObjects:
    """The objects of a stream: of the last ``MOST_OBJECTS`` the publication that arrived first.

    The lists have each bad publication with what is wrong, in words: at most 100.
    """

    def __init__(self) -> None:
        self.noted = 0
        self.updates = 0
        self.reused: list[tuple[Publication, str]] = []
        self.changed: list[tuple[Publication, str]] = []
        self.unlinked: list[tuple[Publication, str]] = []
        self._first: OrderedDict[str, _Version] = OrderedDict()

    def note(self, raw: bytes, seen: Peek, place: Publication) -> None:
        """Note a valid message, if it publishes an object."""
        kind = seen.message_type or ""
        if kind not in _TYPES or seen.correlation_id is not None or (seen.total or 1) > 1:
            return
        body = msgspec.json.decode(raw)["messageBody"]
        uuid = body["objectUUID"].lower()
        named = named_versions(body)
        previous = frozenset(each.lower() for each in named.previous)
        self.noted += 1
        first = self._first.get(uuid)
        version = _Version(place, kind, previous, _digest(body))
        republished = first is not None and first.digest == version.digest
        if kind == "MetadataUpdate":
            self.updates += 1
            if uuid in previous:
                _keep(self.reused, place, f"objectUUID {uuid} is isNewVersionOf itself")
            elif not previous and not named.following and not republished:
                _keep(self.unlinked, place, f"objectUUID {uuid}")
        if first is None:
            self._first[uuid] = version
            if len(self._first) > MOST_OBJECTS:
                self._first.popitem(last=False)
        elif first.place.message_id != place.message_id and not republished:
            self._compare(uuid, first, version)

    def _compare(self, uuid: str, known: _Version, read: _Version) -> None:
        """Tell of the later one of two: shards are read one after another, so it may be the one known."""
        earlier, later = (known, read) if known.place.arrived <= read.place.arrived else (read, known)
        self._first[uuid] = earlier
        other = (later.message_type, later.previous) != (earlier.message_type, earlier.previous)
        fault = later.place.fault or earlier.place.fault
        if uuid not in later.previous:
            what = f"objectUUID {uuid}, as {earlier.message_type} {earlier.place.message_id} had it"
            _keep(self.reused if other else self.changed, later.place._replace(fault=fault), what)


def _keep(bad: list[tuple[Publication, str]], place: Publication, what: str) -> None:
    if len(bad) < _MOST_SHOWN:
        bad.append((place, what))


def _digest(body: dict[str, Any]) -> bytes:
    """A digest of an object however it is written, and whatever was published after it."""
    related = [
        each
        for each in body.get("objectRelatedIdentifier", ())
        if each.get("relationType") != IS_PREVIOUS_VERSION_OF
    ]
    text = json.dumps({**body, "objectRelatedIdentifier": related}, sort_keys=True)
    return blake2b(text.encode(), digest_size=8).digest()
