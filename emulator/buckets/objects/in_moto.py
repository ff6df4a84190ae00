"""Changes to moto that keep the bodies of its objects on disk.

moto keeps each body in a temporary file of its own, which is in memory up to 16 MiB, and keeps references to
all that was ever in its services. Here it gets a ``Body`` in place of that file, and forgets deleted objects.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import cache
from types import SimpleNamespace
from typing import Any, Final

from emulator.buckets.objects.object_bodies import Bodies, Body
from emulator.clock import Clock

_answering: ContextVar[bool] = ContextVar("answering", default=False)
"""Whether an object is read to be sent, so that its contents can be read piece by piece meanwhile."""


def keep_bodies(bodies: Bodies, clock: Clock) -> None:
    """Make moto, in this whole process, keep bodies of objects in ``bodies`` and date them by ``clock``."""
    from moto.core.common_models import BaseModel
    from moto.s3 import models
    from moto.s3.models import FakeKey, get_canned_acl
    from moto.s3.responses import S3Response
    from moto.utilities.tagging_service import TaggingService

    def body(*_: object, **__: object) -> Body:
        return Body(bodies)

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
            get_object=S3Response.get_object, init=FakeKey.__init__, tag_resource=TaggingService.tag_resource
        )
        _replace(TaggingService, "tag_resource", _tag_resource)
        _replace(S3Response, "get_object", _get_object)
        _replace(FakeKey, "__init__", _init)


_originals: dict[str, Any] = {}
_ALIKE: Final = frozenset(
    (
        *("_transitions", "model_name", "_max_buffer_size", "disposed", "_tick", "partition"),
        *("account_id", "region_name", "_version_id", "_is_versioned", "_storage_class"),
    )
)
"""Attributes that are equal in nearly all new objects."""


def _get_object(responses: Any) -> Any:
    token = _answering.set(True)
    try:
        return _originals["get_object"](responses)
    finally:
        _answering.reset(token)


def _init(key: Any, *given: Any, **named: Any) -> None:
    """Initialise as moto does, then move default values to the class: that halves an object's memory."""
    _originals["init"](key, *given, **named)
    kind = type(key)
    kept: dict[str, Any] = {}
    for name, value in vars(key).items():
        if value is not None and (name not in _ALIKE or getattr(kind, name, value) != value):
            kept[name] = value
        elif not hasattr(kind, name):
            setattr(kind, name, value)
    key.__dict__ = kept


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
