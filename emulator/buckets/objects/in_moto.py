"""Changes to moto that keep the bodies of its objects on disk.

moto keeps each body in a temporary file of its own, which is in memory up to 16 MiB, and keeps references to
all that was ever in its services. Here it gets a ``Body`` in place of that file and a ``SmallKey`` for an
object, and forgets deleted objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import SimpleNamespace
from typing import Any, Final

from emulator.buckets.objects.bodies import Bodies
from emulator.buckets.objects.object_bodies import Body, answering
from emulator.clock import Clock

_keeping_in: ContextVar[Bodies | None] = ContextVar("keeping_in", default=None)
"""Where the request on this thread keeps the bodies of its objects: a process may have several sandboxes."""


def keep_bodies(bodies: Bodies, clock: Clock, account: str) -> None:
    """Make moto, in this whole process, keep bodies of objects and date them by ``clock``.

    They are kept in ``bodies`` unless ``keeping_in`` says where. Most objects are expected in ``account``.
    """
    from moto.core.common_models import BaseModel
    from moto.s3 import models
    from moto.s3.models import S3Backend, get_canned_acl
    from moto.s3.responses import S3Response
    from moto.s3.utils import user_settable_fields
    from moto.utilities.tagging_service import TaggingService

    from emulator.buckets.objects.small_key import SmallKey, leave_usual_to_class

    def body(*_: object, **__: object) -> Body:
        return Body(_keeping_in.get() or bodies)

    changed: Any = models
    changed.tempfile = SimpleNamespace(SpooledTemporaryFile=body)
    changed.utcnow = lambda: clock.now().replace(tzinfo=None)
    changed.get_canned_acl = cache(get_canned_acl)
    _replace(BaseModel, "__new__", _untracked)
    if not _originals:
        _originals.update(
            get_object=S3Response.get_object,
            put_object_tagging=S3Backend.put_object_tagging,
            tag_resource=TaggingService.tag_resource,
        )
        leave_usual_to_class(account)
        changed.FakeKey = SmallKey
        user_settable_fields.difference_update(_OF_REQUESTS)
        _replace(TaggingService, "tag_resource", _tag_resource)
        _replace(S3Response, "get_object", _get_object)
        _replace(S3Backend, "put_object_tagging", _put_object_tagging)


@contextmanager
def keeping_in(bodies: Bodies | None) -> Iterator[None]:
    """Keep the bodies of this thread's objects in ``bodies`` while the context lasts."""
    token = _keeping_in.set(bodies)
    try:
        yield
    finally:
        _keeping_in.reset(token)


_originals: dict[str, Any] = {}
_OF_REQUESTS: Final = (
    "x-amz-content-sha256",
    "x-amz-content-crc32",
    "x-amz-content-crc32c",
    "x-amz-content-sha1",
)
"""Headers that sign a request. moto takes them for metadata of the object, and S3 does not."""


def _get_object(responses: Any) -> Any:
    token = answering.set(True)
    try:
        return _originals["get_object"](responses)
    finally:
        answering.reset(token)


def _put_object_tagging(backend: Any, key: Any, *given: Any, **named: Any) -> Any:
    """Tag as moto does, which is its last step in putting an object: all other attributes are set by now."""
    key.shrink()
    return _originals["put_object_tagging"](backend, key, *given, **named)


def _tag_resource(tagging: Any, arn: str, tags: Any) -> None:
    """Tag as moto does, but note nothing of an object of S3 that has no tags."""
    if tags or ":s3:::" not in arn:
        _originals["tag_resource"](tagging, arn, tags)


def _untracked(kind: type[Any], *_: object, **__: object) -> Any:
    return object.__new__(kind)


def _replace(kind: Any, name: str, by: Any) -> None:
    setattr(kind, name, by)
