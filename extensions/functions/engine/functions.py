"""The functions of every account and region, and what is kept of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from emulator.journal import KeyedLog
from extensions.functions.engine.errors import ConflictError, NotFoundError
from extensions.functions.engine.function import LATEST, Function, Place, Version
from extensions.functions.engine.function_code import CodeStore

_CODE: Final = b"code/"
"""What the keys of archives begin with; the keys of functions begin with an account."""
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Function).decode


class Functions:
    """Functions by their place. What changes one calls ``store``, and then ``changed`` is called."""

    def __init__(self, log: Path | None, *, fsync: bool) -> None:
        self.code = CodeStore()
        self.changed: Callable[[Place], None] = lambda _place: None
        self._log = KeyedLog(log, fsync=fsync)
        self.torn_bytes = self._log.torn_bytes
        self.lock = threading.RLock()
        kept = self._log.read()
        for archive in (value for key, value in kept.items() if key.startswith(_CODE)):
            self.code.keep(archive)
        found = (_decode(value) for key, value in kept.items() if not key.startswith(_CODE))
        self._functions = {function.place: function for function in found}
        self._stored = {key for key in kept if key.startswith(_CODE)}

    def get(self, place: Place) -> Function:
        """Raises NotFoundError."""
        function = self._functions.get(place)
        if function is None:
            raise NotFoundError(f"Function not found: {place.arn}")
        return function

    def find(self, place: Place) -> Function | None:
        return self._functions.get(place)

    def resolve(self, place: Place, qualifier: str) -> tuple[Function, Version]:
        """The version that a number or an alias names. Raises NotFoundError."""
        function = self.get(place)
        alias = function.aliases.get(qualifier)
        version = function.find_version(alias.version if alias else qualifier or LATEST)
        if version is None:
            raise NotFoundError(f"Function not found: {place.arn}:{qualifier}")
        return function, version

    def places(self) -> tuple[Place, ...]:
        return tuple(self._functions)

    def list_in(self, account: str, region: str) -> list[Function]:
        """The functions of an account and region, by their names."""
        there = (each for place, each in self._functions.items() if place[:2] == (account, region))
        return sorted(there, key=lambda each: each.name)

    def add(self, function: Function) -> None:
        """Add a function. Raises ConflictError where its name is taken."""
        with self.lock:
            if function.place in self._functions:
                raise ConflictError(f"Function already exist: {function.name}")
            self.store(function)

    def store(self, function: Function) -> None:
        """Keep a function as it is now. Raises OSError, and then what is kept is as it was."""
        with self.lock:
            before = self._functions.get(function.place)
            self._functions[function.place] = function
            try:
                self._log.append([*self._change_code(), (_key(function.place), _encode(function))])
            except OSError:
                self._restore(function.place, before)
                raise
            self._note_code()
        self.changed(function.place)

    def remove(self, place: Place) -> None:
        """Remove a function with its versions. Raises NotFoundError."""
        with self.lock:
            before = self.get(place)
            del self._functions[place]
            try:
                self._log.append([*self._change_code(), (_key(place), None)], freeing=True)
            except OSError:
                self._restore(place, before)
                raise
            self._note_code()
        self.changed(place)

    def save(self) -> list[bytes]:
        """A copy of every function, for ``load``."""
        return [_encode(each) for each in self._functions.values()]

    def save_code(self) -> list[bytes]:
        """The archive of each code that a function has."""
        archives = map(self.code.archive_of, self._digests())
        return [archive for archive in archives if archive is not None]

    def load(self, saved: Iterable[bytes | memoryview], archives: Iterable[bytes | memoryview]) -> None:
        """Replace all by what was saved. Raises OSError."""
        with self.lock:
            for archive in archives:
                self.code.keep(bytes(archive))
            gone = set(self._functions)
            self._functions = {each.place: each for each in map(_decode, saved)}
            functions = [(_key(each.place), _encode(each)) for each in self._functions.values()]
            self._log.replace([*self._list_code(), *functions])
            self._note_code()
        for place in gone | self._functions.keys():
            self.changed(place)

    def close(self) -> None:
        self._log.close()
        self.code.close()

    def _restore(self, place: Place, before: Function | None) -> None:
        if before is None:
            self._functions.pop(place, None)
        else:
            self._functions[place] = before

    def _digests(self) -> set[str]:
        """The code that functions have, but for watched folders."""
        every = (version for each in self._functions.values() for version in (each.latest, *each.versions))
        return {version.code.digest for version in every if version.code.digest}

    def _list_code(self) -> list[tuple[bytes, bytes | None]]:
        every = ((digest, self.code.archive_of(digest)) for digest in sorted(self._digests()))
        return [(_CODE + digest.encode(), archive) for digest, archive in every if archive is not None]

    def _change_code(self) -> list[tuple[bytes, bytes | None]]:
        """What has to be kept, and what no more, for the functions that there are now."""
        used = dict(self._list_code())
        gone = [(key, None) for key in sorted(self._stored - used.keys())]
        return [*((key, archive) for key, archive in used.items() if key not in self._stored), *gone]

    def _note_code(self) -> None:
        self._stored = {key for key, _ in self._list_code()}
        self.code.keep_only(self._digests())


def _key(place: Place) -> bytes:
    return "/".join(place).encode()
