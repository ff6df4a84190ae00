"""An object of moto's S3 in little memory. A bucket may have many thousands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, cast

from moto.s3.models import FakeKey
from moto.utilities.utils import DEFAULT_PARTITION, LowercaseDict

from emulator.buckets.objects.object_bodies import Body, answering

_ALIKE: Final = frozenset(
    (
        *("_transitions", "model_name", "_max_buffer_size", "disposed", "_tick", "partition", "acl"),
        *("account_id", "region_name", "_version_id", "_is_versioned", "_storage_class"),
    )
)
"""Attributes that are equal in nearly all objects."""
_UNUSED: Final = frozenset(("lock", "_time_progressed"))
"""moto would read a body with the one; the other is when it last changed an object's status, which it asks
for only when changes are to take time."""
_set_value: Final[Callable[[FakeKey, bytes], None]] = vars(FakeKey)["value"].fset
_usual: Final[dict[str, Any]] = {}
"""The attributes of objects that are on the class, with their values there."""


class Metadata(Mapping[str, str]):
    """Names and values that do not change, in little memory."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: tuple[tuple[str, str], ...]) -> None:
        self._pairs = pairs

    def __getitem__(self, name: str) -> str:
        return dict(self._pairs)[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)


class SmallKey(FakeKey):
    """An object whose attributes are slots where objects differ, and on the class where they have them alike.

    ``kept_at`` is its place among all that are stored, where it is stored.
    """

    __slots__ = _DIFFERENT = (
        *("_etag", "_metadata", "_value_buffer", "bucket_name", "checksum_algorithm", "checksum_value"),
        *("contentsize", "kept_at", "last_modified", "name"),
    )

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.shrink()

    def __del__(self) -> None:
        self.dispose()

    @property
    def value(self) -> Any:
        """Its body: bytes, and ``Contents`` while it is read to be sent. Raises OSError."""
        return self._body.contents() if answering.get() else self._body.whole()

    @value.setter
    def value(self, data: bytes) -> None:
        _set_value(self, data)
        self.contentsize = self._body.size

    def __deepcopy__(self, _memo: dict[int, Any]) -> SmallKey:
        """A copy to be listed, which shares the body. It has no upload, which would end with the copy."""
        body = Body(self._body.store, self._body.pieces)
        return SmallKey.made_of({**self._all(), "_value_buffer": body, "multipart": None})

    @property
    def _body(self) -> Body:
        found: Any = self._value_buffer
        return cast("Body", found)

    def advance(self) -> None:
        """Do nothing: moto counts here how often an object was read, and that would be a change."""

    def set_metadata(self, metadata: Any, replace: bool = False) -> None:
        self._metadata: Any = LowercaseDict(self._metadata)
        super().set_metadata(LowercaseDict(metadata), replace)

    def attributes(self) -> dict[str, Any]:
        """All that differs from the usual, in moto's own types."""
        return {**self._all(), "_metadata": LowercaseDict(self._metadata)}

    @classmethod
    def made_of(cls, attributes: Mapping[str, Any]) -> SmallKey:
        """The object with these attributes, made without moto's initialiser."""
        made = object.__new__(cls)
        for name, value in attributes.items():
            setattr(made, name, value)
        made.shrink()
        return made

    def shrink(self) -> None:
        """Leave usual attributes to the class, and share values that are often the same."""
        self.bucket_name = _shared(self.bucket_name)
        self.checksum_algorithm = _shared(self.checksum_algorithm)
        if not isinstance(self._metadata, Metadata):
            self._metadata = _metadata(tuple(self._metadata.items()))
        self._drop_usual()

    def _all(self) -> dict[str, Any]:
        slots = {name: getattr(self, name) for name in self._DIFFERENT if hasattr(self, name)}
        found = slots | self.__dict__
        self._drop_usual()
        return found

    def _drop_usual(self) -> None:
        more = {
            name: value
            for name, value in self.__dict__.items()
            if name not in _UNUSED and (name not in _usual or _usual[name] != value)
        }
        # An empty dictionary would take memory of its own.
        del self.__dict__
        if more:
            self.__dict__ = more


def leave_usual_to_class(account: str) -> None:
    """Give the class the values that nearly all of its new objects have. Most are expected in ``account``."""
    # Where a key has a region, moto's S3 writes the partition.
    sample = FakeKey("", b"", account, DEFAULT_PARTITION, version_id="null")
    for name, value in vars(sample).items():
        if name not in SmallKey._DIFFERENT and (value is None or name in _ALIKE):  # noqa: SLF001
            _usual[name] = value
        if name in _usual or name in _UNUSED:
            setattr(SmallKey, name, value)
    sample.dispose()


@lru_cache(maxsize=256)
def _metadata(pairs: tuple[tuple[str, str], ...]) -> Metadata:
    """The metadata of these pairs; what many objects have is there once."""
    return Metadata(tuple((_shared(name.lower()), value) for name, value in pairs))


def _shared(text: Any) -> Any:
    return sys.intern(text) if type(text) is str else text
