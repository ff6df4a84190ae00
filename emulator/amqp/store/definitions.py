"""The durable exchanges, queues and bindings, as a log of what was declared and deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from emulator.journal import Log


class ExchangeMade(msgspec.Struct, array_like=True, tag_field="what", tag="exchange"):
    """A declared exchange; ``arguments`` is its encoded table."""

    name: str
    type: str
    auto_delete: bool
    internal: bool
    arguments: bytes


class ExchangeGone(msgspec.Struct, array_like=True, tag_field="what", tag="no exchange"):
    """A deleted exchange. Its bindings went with it."""

    name: str


class QueueMade(msgspec.Struct, array_like=True, tag_field="what", tag="queue"):
    """A declared queue; ``arguments`` is its encoded table."""

    id: int
    name: str
    auto_delete: bool
    arguments: bytes


class QueueGone(msgspec.Struct, array_like=True, tag_field="what", tag="no queue"):
    """A deleted queue. Its bindings went with it."""

    name: str


class Bound(msgspec.Struct, array_like=True, tag_field="what", tag="binding"):
    """A binding of an exchange to a queue or an exchange, by ``kind``."""

    source: str
    kind: str
    name: str
    routing_key: str
    arguments: bytes


class Unbound(msgspec.Struct, array_like=True, tag_field="what", tag="no binding"):
    """A removed binding."""

    source: str
    kind: str
    name: str
    routing_key: str
    arguments: bytes


class LastId(msgspec.Struct, array_like=True, tag_field="what", tag="last id"):
    """The highest id that a queue has had, so that none has it again."""

    id: int


Definition: TypeAlias = ExchangeMade | ExchangeGone | QueueMade | QueueGone | Bound | Unbound | LastId
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Definition)


class DefinitionLog:
    """The log of definitions. ``path`` None keeps nothing. Raises ``DamagedLogError`` and OSError."""

    def __init__(self, path: Path | None, *, fsync: bool = False) -> None:
        self._fsync = fsync
        self._log = Log(path, fsync=fsync) if path is not None else None

    @property
    def torn_bytes(self) -> int:
        return self._log.torn_bytes if self._log else 0

    def read(self) -> Iterator[Definition]:
        if self._log is not None:
            for _, payload in self._log.entries():
                yield _DECODER.decode(payload)

    def append(self, definition: Definition) -> None:
        if self._log is not None:
            self._log.append(_ENCODER.encode(definition))

    def rewrite(self, definitions: Iterable[Definition]) -> None:
        """Replace the log by one of these definitions alone."""
        if self._log is not None:
            fresh = Log.rewrite(self._log.path, map(_ENCODER.encode, definitions), fsync=self._fsync)
            self._log.close()
            self._log = fresh

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
