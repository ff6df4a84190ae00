"""Changes to moto's S3, so that it says which objects, versions, uploads and parts a request touches.

A unit is a kind, a bucket and a subject: ``names`` and the name of an object, ``key`` and a version that was
read, ``upload`` and an upload, ``part`` and an upload with the number of a part.
"""

from __future__ import annotations

from typing import Any, Final

from emulator.rng import new_uuid
from emulator.services.touched import current, note_touched

_NAME: Final = "s3"


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
            note_touched(_NAME, ("part", bucket, (upload, number)))
        return part

    def touching_get_object(backend: Any, *given: Any, **named: Any) -> Any:
        key = get_object(backend, *given, **named)
        # moto changes what it has found in place, and tells nobody.
        if key is not None and not current().reading:
            note_touched(_NAME, ("key", None, key))
        return key

    changed: Any = init
    changed.touches = True
    models.FakeBucket.__init__ = changed
    models.FakeMultipart.set_part, models.S3Backend.get_object = touching_set_part, touching_get_object
