"""Changes to moto that keep the bodies of its objects on disk.

moto keeps each body in a temporary file of its own, which is in memory up to 16 MiB, and keeps references to
all that was ever in its services. Here it gets a ``Body`` in place of that file, and forgets deleted objects.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from emulator.buckets.objects.object_bodies import Bodies, Body
from emulator.clock import Clock

if TYPE_CHECKING:
    from emulator.buckets.objects.kept_bodies import KeptBodies
    from emulator.buckets.objects.numbered_bodies import NumberedBodies

    AnyBodies: TypeAlias = Bodies | KeptBodies | NumberedBodies

_answering: ContextVar[bool] = ContextVar("answering", default=False)
"""Whether an object is read to be sent, so that its contents can be read piece by piece meanwhile."""
_keeping_in: ContextVar[AnyBodies | None] = ContextVar("keeping_in", default=None)
"""Where the request on this thread keeps the bodies of its objects: a process may have several sandboxes."""


def keep_bodies(bodies: Bodies, clock: Clock, account: str) -> None:
    """Make moto, in this whole process, keep bodies of objects and date them by ``clock``.

    They are kept in ``bodies`` unless ``keeping_in`` says where. Most objects are expected in ``account``.
    """
    from moto.core.common_models import BaseModel
    from moto.s3 import models
    from moto.s3.models import FakeKey, S3Backend, get_canned_acl
    from moto.s3.responses import S3Response
    from moto.utilities.tagging_service import TaggingService

    def body(*_: object, **__: object) -> Body:
        return Body(_keeping_in.get() or bodies)

    changed: Any = models
    setter = vars(FakeKey)["value"].fset
    changed.tempfile = SimpleNamespace(SpooledTemporaryFile=body)
    changed.utcnow = lambda: clock.now().replace(tzinfo=None)
    changed.get_canned_acl = cache(get_canned_acl)
    _replace(BaseModel, "__new__", _untracked)
    _replace(FakeKey, "__del__", FakeKey.dispose)
    _replace(FakeKey, "value", property(_value, setter))
    if not _originals:
        _originals.update(
            get_object=S3Response.get_object,
            init=FakeKey.__init__,
            put_object_tagging=S3Backend.put_object_tagging,
            tag_resource=TaggingService.tag_resource,
        )
        _leave_defaults_to_class(FakeKey, account)
        _replace(TaggingService, "tag_resource", _tag_resource)
        _replace(S3Response, "get_object", _get_object)
        _replace(S3Backend, "put_object_tagging", _put_object_tagging)
        _replace(FakeKey, "__init__", _init)


@contextmanager
def keeping_in(bodies: AnyBodies | None) -> Iterator[None]:
    """Keep the bodies of this thread's objects in ``bodies`` while the context lasts."""
    token = _keeping_in.set(bodies)
    try:
        yield
    finally:
        _keeping_in.reset(token)


_originals: dict[str, Any] = {}
_defaults: dict[str, Any] = {}
"""The attributes of objects that are on the class, with their values there."""
_ALIKE: Final = frozenset(
    (
        *("_transitions", "model_name", "_max_buffer_size", "disposed", "_tick", "partition", "acl"),
        *("account_id", "region_name", "_version_id", "_is_versioned", "_storage_class"),
    )
)
"""Attributes that are equal in nearly all objects."""
_UNUSED: Final = "_time_progressed"
"""When moto last changed an object's status, which it asks for only when changes are to take time."""
_CONTENT_TYPE: Final = "content-type"


def _get_object(responses: Any) -> Any:
    token = _answering.set(True)
    try:
        return _originals["get_object"](responses)
    finally:
        _answering.reset(token)


def _init(key: Any, *given: Any, **named: Any) -> None:
    _originals["init"](key, *given, **named)
    _shrink(key)


def _put_object_tagging(backend: Any, key: Any, *given: Any, **named: Any) -> Any:
    """Tag as moto does, which is its last step in putting an object: all other attributes are set by now."""
    _shrink(key)
    return _originals["put_object_tagging"](backend, key, *given, **named)


def _shrink(key: Any) -> None:
    """Leave attributes with their default values to the class, and share strings that are often the same.

    That halves an object's memory.
    """
    key.bucket_name, key.checksum_algorithm = _shared(key.bucket_name), _shared(key.checksum_algorithm)
    if (metadata := getattr(key.metadata, "store", None)) is not None:
        key.metadata.store = {
            _shared(name): _shared(value) if name == _CONTENT_TYPE else value
            for name, value in metadata.items()
        }
    key.__dict__ = {
        name: value
        for name, value in vars(key).items()
        if name != _UNUSED and (name not in _defaults or _defaults[name] != value)
    }


def _shared(text: Any) -> Any:
    return sys.intern(text) if type(text) is str else text


def _leave_defaults_to_class(kind: Any, account: str) -> None:
    """Give the class the values that nearly all of its new objects have."""
    from moto.utilities.utils import DEFAULT_PARTITION

    # Where a key has a region, moto's S3 writes the partition.
    sample = kind("", b"", account, DEFAULT_PARTITION, version_id="null")
    for name, value in vars(sample).items():
        if value is None or name in _ALIKE:
            _defaults[name] = value
        if name in _defaults or name == _UNUSED:
            setattr(kind, name, value)
    sample.dispose()


def _tag_resource(tagging: Any, arn: str, tags: Any) -> None:
    """Tag as moto does, but note nothing of an object of S3 that has no tags."""
    if tags or ":s3:::" not in arn:
        _originals["tag_resource"](tagging, arn, tags)


def _value(key: Any) -> Any:
    with key.lock:
        body: Body = key._value_buffer  # noqa: SLF001 -- where moto has it
        if _answering.get():
            return body.contents()
        body.seek(0)
        return body.read()


def _untracked(kind: type[Any], *_: object, **__: object) -> Any:
    return object.__new__(kind)


def _replace(kind: Any, name: str, by: Any) -> None:
    setattr(kind, name, by)
