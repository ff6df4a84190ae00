"""Which objects were published in a stream, under which key, and what is wrong with it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from schemas.contract import PublishedObject

MOST_OBJECTS: Final = 50_000
_MOST_SHOWN: Final = 100


class Publication(NamedTuple):
    """Where a message lies. ``arrived`` is in seconds since the epoch; ``fault`` struck it on its way."""

    shard: str
    sequence_number: str
    message_id: str | None
    arrived: float
    fault: str


class _Version(NamedTuple):
    """A version, the message that published it, and the type of that."""

    published: PublishedObject
    place: Publication
    message_type: str


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

    def note(self, read: PublishedObject, message_type: str, place: Publication) -> None:
        """Note a version that a valid message of this type publishes."""
        self.noted += 1
        key, version = read.key, _Version(read, place, message_type)
        first = self._first.get(key)
        republished = first is not None and first.published.digest == read.digest
        if read.update:
            self.updates += 1
            if key in read.previous:
                _keep(self.reused, place, f"{key} is a version after itself")
            elif not read.linked and not republished:
                _keep(self.unlinked, place, key)
        if first is None:
            self._first[key] = version
            if len(self._first) > MOST_OBJECTS:
                self._first.popitem(last=False)
        # The same message once more is a retry.
        elif first.place.message_id != place.message_id and not republished:
            self._compare(key, first, version)

    def _compare(self, key: str, known: _Version, read: _Version) -> None:
        """Tell of the later one of two: shards are read one after another, so it may be the one known."""
        earlier, later = (known, read) if known.place.arrived <= read.place.arrived else (read, known)
        self._first[key] = earlier
        other = later.message_type != earlier.message_type
        other |= later.published.previous != earlier.published.previous
        fault = later.place.fault or earlier.place.fault
        if key not in later.published.previous:
            what = f"{key}, as {earlier.message_type} {earlier.place.message_id} had it"
            _keep(self.reused if other else self.changed, later.place._replace(fault=fault), what)


def _keep(bad: list[tuple[Publication, str]], place: Publication, what: str) -> None:
    if len(bad) < _MOST_SHOWN:
        bad.append((place, what))
