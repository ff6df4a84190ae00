"""The stacks of every account and region, and what is kept of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from emulator.journal import KeyedLog
from emulator.kinesis import Scope
from extensions.functions.stacks.stack import Stack

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Stack).decode
_DELETED: Final = "DELETE_COMPLETE"
_KEPT_SECONDS: Final = 90 * 24 * 3600
"""How long a deleted stack can still be asked for by its id."""


class StackStore:
    """Stacks by their ids. Who changes one has the ``lock``, and puts it. Every change is stored."""

    def __init__(self, log: Path | None, *, fsync: bool) -> None:
        self.lock = threading.RLock()
        self._log = KeyedLog(log, fsync=fsync)
        self.torn_bytes = self._log.torn_bytes
        self._stacks = {stack.id: stack for stack in map(_decode, self._log.read().values())}

    def find(self, scope: Scope, name: str) -> Stack | None:
        """The stack of a name, which is not deleted, or of an id."""
        found = self.list_in(scope)
        living = (each for each in found if name == each.name and each.status != _DELETED)
        return next((each for each in found if each.id == name), None) or next(living, None)

    def list_in(self, scope: Scope | None = None) -> list[Stack]:
        """The stacks of an account and region, or all, the latest first."""
        with self.lock:
            found = [each for each in self._stacks.values() if scope is None or each.scope == scope]
        return sorted(found, key=lambda each: each.created, reverse=True)

    def find_export(self, scope: Scope, name: str, *, but: str = "") -> tuple[str, str] | None:
        """The value of an export and the name of its stack, which is not the one of the id ``but``."""
        for stack in self.list_in(scope):
            for output in stack.outputs if stack.id != but and stack.status != _DELETED else ():
                if output.get("ExportName") == name:
                    return output["OutputValue"], stack.name
        return None

    def has(self, stack: Stack) -> bool:
        """Whether it is still this one: a load or a reset has not replaced it."""
        return self._stacks.get(stack.id) is stack

    def put(self, stack: Stack, now: float) -> None:
        """Store a stack as it is, and forget what was deleted long before ``now``. Raises OSError."""
        old = [
            each.id for each in self._stacks.values() if each.deleted and each.deleted < now - _KEPT_SECONDS
        ]
        self._log.append([(stack.id.encode(), _encode(stack)), *((each.encode(), None) for each in old)])
        self._stacks[stack.id] = stack
        for each in old:
            del self._stacks[each]

    def save(self) -> list[bytes]:
        """A copy of every stack, for ``load``."""
        with self.lock:
            return [_encode(each) for each in self._stacks.values()]

    def load(self, saved: Iterable[bytes | memoryview]) -> None:
        """Replace all by what was saved. Raises OSError."""
        with self.lock:
            self._stacks = {stack.id: stack for stack in map(_decode, saved)}
            self._log.replace((each.id.encode(), _encode(each)) for each in self._stacks.values())

    def close(self) -> None:
        self._log.close()
