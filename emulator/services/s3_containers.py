"""A bucket's objects and uploads in moto, which say what a request touches, as ``s3_touching`` has it."""

from __future__ import annotations

from typing import Any, Final

from moto.s3.models import MultipartDict
from moto.s3.utils import _VersionedKeyStore

from emulator.services.touched import current, note_touched

_NAME: Final = "s3"


class TouchingKeys(_VersionedKeyStore):
    """The versions of a bucket's objects. An object that has one, as most have, has no list of them."""

    bucket: Any

    def __init__(self) -> None:
        super().__init__()
        self._stored: dict[str, int | tuple[int, ...]] = {}

    def __sgetitem__(self, name: str) -> list[Any]:
        found: Any = dict.__getitem__(self, name)
        return found if type(found) is list else [found]

    def __setitem__(self, name: str, version: Any) -> None:
        super().__setitem__(name, version)
        self._compact(name)
        note_touched(_NAME, ("names", self.bucket, name))

    def setlist(self, name: str, versions: Any) -> None:
        super().setlist(name, versions)
        self._compact(name)
        note_touched(_NAME, ("names", self.bucket, name))

    def pop(self, name: str) -> None:  # type: ignore[override]
        super().pop(name)
        note_touched(_NAME, ("names", self.bucket, name))

    def restore(self, name: str, version: Any) -> None:
        """Add a version that is stored already."""
        super().__setitem__(name, version)
        self._compact(name)
        self.note_stored(name, (*self.stored(name), version.kept_at))

    def stored(self, name: str) -> tuple[int, ...]:
        """The places of the versions of an object that are stored."""
        found = self._stored.get(name, ())
        return found if isinstance(found, tuple) else (found,)

    def note_stored(self, name: str, places: tuple[int, ...]) -> None:
        if places:
            self._stored[name] = places if len(places) > 1 else places[0]
        else:
            self._stored.pop(name, None)

    def _compact(self, name: str) -> None:
        if len(versions := self.getlist(name)) == 1:
            dict.__setitem__(self, name, versions[0])


class TouchingUploads(MultipartDict):
    """A bucket's uploads under way."""

    bucket: Any

    def __setitem__(self, upload_id: str, upload: Any) -> None:
        super().__setitem__(upload_id, upload)
        # What the archives put is not stored: the streams that it comes from are durable.
        upload.kept_in = None if current().own else self.bucket
        note_touched(_NAME, ("upload", self.bucket, upload))

    def __delitem__(self, upload_id: str) -> None:
        upload = self[upload_id]
        super().__delitem__(upload_id)
        note_touched(_NAME, ("upload", self.bucket, upload))
