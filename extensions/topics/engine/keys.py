"""The SOW key, which identifies a record."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from emulator.filters import read_path, reader
from extensions.topics.engine.command_refusal import CommandRefusedError

_DIGEST_BYTES = 12
# Equal values of these types have the same encoding.
_CACHED = frozenset({str, int})
_encode = msgspec.json.Encoder().encode


class KeyFields:
    """Computes an opaque key from the values of a record at ``paths`` and the ``domain``.

    Raises ValueError for a path that is not valid.
    """

    def __init__(self, domain: str, paths: tuple[str, ...]) -> None:
        self.paths = paths
        self.names = tuple(str(read_path(path)[0]) for path in paths)
        self._domain = domain
        self._reads: list[Callable[[Any], Any]] = [reader(read_path(path)) for path in paths]

    def key(self, record: Any) -> str:
        """The key of ``record``. Raises CommandRefusedError for a missing or composite key field."""
        values = [read(record) for read in self._reads]
        for value in values:
            if value is None or type(value) is dict or type(value) is list:
                raise self._refusal(values)
        if len(values) == 1 and type(values[0]) in _CACHED:
            return _key_of_one(self._domain, values[0])
        return opaque_key(self._domain, values)

    def _refusal(self, values: list[Any]) -> CommandRefusedError:
        wrong = [
            (p, v) for p, v in zip(self.paths, values, strict=True) if v is None or isinstance(v, dict | list)
        ]
        path, value = wrong[0]
        found = "nothing" if value is None else "no single value"
        return CommandRefusedError(
            "bad sow key", f"the key field {path} holds {found}; the record needs one to be kept"
        )


def opaque_key(domain: str, values: list[Any]) -> str:
    """Hash ``values`` to a key of 16 Base64 characters."""
    # With the domain, so that equal values in two topics are two records.
    return b64encode(blake2b(_encode([domain, values]), digest_size=_DIGEST_BYTES).digest()).decode()


@lru_cache(maxsize=1 << 14, typed=True)
def _key_of_one(domain: str, value: str | int) -> str:
    return opaque_key(domain, [value])
