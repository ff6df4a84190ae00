"""Changes to moto's S3, so that it says which objects, versions, uploads and parts a request touches.

A unit is a kind, a bucket and a subject: ``names`` and the name of an object, ``key`` and a version that was
read, ``upload`` and an upload, ``part`` and an upload with the number of a part.
"""

from __future__ import annotations

from typing import Any, Final

from emulator.rng import new_uuid
from emulator.services.touched import current, touch

_NAME: Final = "s3"


def touch_containers(models: Any) -> None:
    """Replace the containers of buckets' objects and uploads."""
    keys, uploads = models._VersionedKeyStore, models.MultipartDict  # noqa: SLF001 -- as moto names it

    class TouchingKeys(keys):  # type: ignore[misc, valid-type]
        """The versions of a bucket's objects. ``stored`` has the places of the versions that are stored."""

        def __init__(self) -> None:
            super().__init__()
            self.stored: dict[str, tuple[int, ...]] = {}

        def __setitem__(self, name: str, version: Any) -> None:
            super().__setitem__(name, version)
            touch(_NAME, ("names", self.bucket, name))

        def setlist(self, name: str, versions: Any) -> None:
            super().setlist(name, versions)
            touch(_NAME, ("names", self.bucket, name))

        def pop(self, name: str) -> None:
            super().pop(name)
            touch(_NAME, ("names", self.bucket, name))

    class TouchingUploads(uploads):  # type: ignore[misc, valid-type]
        """A bucket's uploads under way."""

        def __setitem__(self, upload_id: str, upload: Any) -> None:
            super().__setitem__(upload_id, upload)
            upload.kept_in = None if current().own else self.bucket
            touch(_NAME, ("upload", self.bucket, upload))

        def __delitem__(self, upload_id: str) -> None:
            upload = self[upload_id]
            super().__delitem__(upload_id)
            touch(_NAME, ("upload", self.bucket, upload))

    models._VersionedKeyStore, models.MultipartDict = TouchingKeys, TouchingUploads  # noqa: SLF001


def touch_operations(models: Any) -> None:
    """Replace the making of buckets and parts, and the finding of an object that a request may change."""
    make_bucket, set_part, get_object = (
        models.FakeBucket.__init__,
        models.FakeMultipart.set_part,
        models.S3Backend.get_object,
    )

    def init(bucket: Any, *given: Any, **named: Any) -> None:
        make_bucket(bucket, *given, **named)
        bucket.kept_as = new_uuid()
        bucket.keys.bucket = bucket.multiparts.bucket = bucket

    def touching_set_part(upload: Any, number: int, value: bytes) -> Any:
        part = set_part(upload, number, value)
        if (bucket := vars(upload).get("kept_in")) is not None:
            touch(_NAME, ("part", bucket, (upload, number)))
        return part

    def touching_get_object(backend: Any, *given: Any, **named: Any) -> Any:
        key = get_object(backend, *given, **named)
        if key is not None and not current().reading:
            touch(_NAME, ("key", None, key))
        return key

    changed: Any = init
    changed.touches = True
    models.FakeBucket.__init__ = changed
    models.FakeMultipart.set_part, models.S3Backend.get_object = touching_set_part, touching_get_object
