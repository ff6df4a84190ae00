"""moto's objects with their bodies on disk.

moto keeps each body in a temporary file of its own, which lies in memory up to 16 MiB, and remembers every object
that there ever was. Here it gets a ``Body`` in that file's place, and what is deleted or overwritten is let go.
"""

from __future__ import annotations

from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

from emulator.objects.bodies import Bodies, Body

_answering: ContextVar[bool] = ContextVar("answering", default=False)
"""Whether an object's contents are asked for to be sent, so that they can be read while they are."""


def keep_bodies(bodies: Bodies) -> None:
    """Have moto, in all of this process, keep bodies of objects in ``bodies`` from now on."""
    from moto.s3 import models  # noqa: PLC0415 -- only once moto is there
    from moto.s3.models import FakeKey, FakeMultipart  # noqa: PLC0415 -- as above
    from moto.s3.responses import S3Response  # noqa: PLC0415 -- as above

    def body(*_: object, **__: object) -> Body:
        return Body(bodies)

    changed: Any = models
    changed.tempfile = SimpleNamespace(SpooledTemporaryFile=body)
    for each in (FakeKey, FakeMultipart):
        _replace(each, "__new__", _untracked)
    _replace(FakeKey, "__del__", FakeKey.dispose)
    _replace(FakeKey, "value", property(_value, FakeKey.value.fset))
    if S3Response.get_object is not _get_object:
        _original.append(S3Response.get_object)
        _replace(S3Response, "get_object", _get_object)


_original: list[Any] = []


def _get_object(responses: Any) -> Any:
    token = _answering.set(True)
    try:
        return _original[0](responses)
    finally:
        _answering.reset(token)


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
