"""The current versions of works, as the messages in the streams name them; kept over a restart."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from emulator.journal import KeyedLog
from schemas.rdss.versions import Knowledge, after_deletes, compute_version_states, named_versions

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(
    tuple[str, float | None, float | None, tuple[str, ...], tuple[str, ...]]
).decode
_decode_value: Final = msgspec.json.Decoder(
    tuple[float | None, float | None, tuple[str, ...], tuple[str, ...]]
).decode


class Change(NamedTuple):
    """The change by a message: the objects that become ``shown``, and those that become ``hidden``.

    ``newest`` is False if a later message on the same object was processed before.
    """

    newest: bool
    shown: tuple[str, ...]
    hidden: tuple[str, ...]


class ObjectVersions:
    """By the rule of ``schemas.rdss.versions``. Each change is stored in the file; None keeps it in memory.

    ``torn_bytes`` is how much of one that was not written whole was cut.
    """

    def __init__(self, path: Path | None) -> None:
        self._knowledge: dict[str, Knowledge] = {}
        self._near: dict[str, set[str]] = {}
        self._log = KeyedLog(path, read_old=_read_old)
        self.torn_bytes = self._log.torn_bytes
        for uuid, value in self._log.read().items():
            self._remember(Knowledge(uuid.decode(), *_decode_value(value)))
        self._find_shown()

    def publish(self, uuid: str, body: Any, at: float) -> Change:
        """Add a version that was published ``at`` seconds since the epoch."""
        named = named_versions(body)
        known = self._knowledge.get(uuid, Knowledge(uuid))
        linked = known._replace(
            previous=tuple({*known.previous, *named.previous}),
            following=tuple({*known.following, *named.following}),
        )
        self._remember(linked)
        at = after_deletes(at, self._work(uuid))
        newest = known.published is None or known.published <= at
        self._write(linked._replace(published=at) if newest else linked)
        # After a crash a message may be read again; its previous versions must be hidden again too.
        return self._changed(uuid, newest=newest, replaced=set(linked.previous))

    def delete(self, uuid: str, at: float) -> Change:
        """Delete the work of this version, ``at`` seconds since the epoch."""
        known = self._knowledge.get(uuid, Knowledge(uuid))
        self._write(known._replace(deleted=at if known.deleted is None else max(known.deleted, at)))
        return self._changed(uuid, newest=True, replaced=set())

    def shows(self, uuid: str) -> bool:
        """Whether an object is the current version of a work that is not deleted."""
        return uuid in self._shown

    def save(self) -> list[bytes]:
        """Return a copy of what is known of every version."""
        return [_encode(knowledge) for knowledge in tuple(self._knowledge.values())]

    def load(self, saved: Iterable[bytes]) -> None:
        """Take what was saved. Nothing is known yet."""
        for payload in saved:
            self._write(Knowledge(*_decode(payload)))
        self._find_shown()

    def close(self) -> None:
        self._log.close()

    def _find_shown(self) -> None:
        known = compute_version_states(self._knowledge.values()).values()
        self._shown = {place.uuid for place in known if place.current and not place.deleted}

    def _write(self, knowledge: Knowledge) -> None:
        self._remember(knowledge)
        self._log.append([(knowledge.uuid.encode(), _encode(knowledge[1:]))])

    def _remember(self, knowledge: Knowledge) -> None:
        self._knowledge[knowledge.uuid] = knowledge
        near = self._near.setdefault(knowledge.uuid, set())
        for other in (*knowledge.previous, *knowledge.following):
            near.add(other)
            self._near.setdefault(other, set()).add(knowledge.uuid)

    def _work(self, uuid: str) -> list[Knowledge]:
        """All known versions of the work of an object."""
        found, waiting = {uuid}, [uuid]
        while waiting:
            new = self._near[waiting.pop()] - found
            found |= new
            waiting.extend(new)
        return [self._knowledge[each] for each in found if each in self._knowledge]

    def _changed(self, uuid: str, *, newest: bool, replaced: set[str]) -> Change:
        work = compute_version_states(self._work(uuid)).values()
        uuids = {place.uuid for place in work if place.current and not place.deleted}
        there = {place.uuid for place in work if place.uuid in self._shown}
        self._shown = (self._shown - there) | uuids
        return Change(newest, tuple(uuids - there), tuple((there | replaced) - uuids))


def _read_old(payload: bytes, values: dict[bytes, bytes]) -> None:
    """Apply an entry as it was when the file had no keys: a version with its UUID."""
    uuid, *known = _decode(payload)
    values[uuid.encode()] = _encode(known)
