"""The people of a hub, each with a token and limits, in a TOML file that a person may write too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from emulator.rng import new_uuid
from emulator.settings.wrong_values import explain_value
from rdss_sandbox.files.rewriting import rewriting
from rdss_sandbox.text.toml_text import read_toml

NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
"""A name is a label of host names (RFC 1123), a virtual host, a segment of paths and a folder."""


class PeopleFileError(ValueError):
    """The file of people cannot be used, or has no such person; the text says why, and what to do."""


class Quota(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The most that one person's sandbox may take; 0 is no limit.

    ``memory_mb`` and ``disk_mb`` are in millions of bytes, ``connections`` are open at a time, ``messages``
    are sent a second.
    """

    memory_mb: int = 0
    disk_mb: int = 0
    connections: int = 0
    messages: int = 0


class Person(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A person, or a pull request, whose access key and password the ``token`` is.

    ``until`` is when the seat goes, in seconds since the epoch; None is never.
    """

    token: str
    quota: Quota | None = None
    until: float | None = None


class SignOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A proxy in front that has asked an OIDC provider who calls, and says so in the ``header``.

    It is believed when it calls from one of the addresses ``proxies``. Where ``add`` is true, a person who
    is not in the file is added.
    """

    header: str
    proxies: tuple[str, ...]
    add: bool = False


class People(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """All that the file says. ``quota`` is that of everybody who has none of their own."""

    people: dict[str, Person] = {}
    quota: Quota = Quota()
    sign_on: SignOn | None = None

    def quota_of(self, name: str) -> Quota:
        return self.people[name].quota or self.quota


class PeopleFile:
    """The file at ``path``; where there is none, there are no people. What is added is written anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at: tuple[int, int] | None = None
        self.people = People()

    def read_if_changed(self) -> bool:
        """Read the file if it has changed. Raises PeopleFileError, and what was read last stays."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        mark = (found.st_mtime_ns, found.st_ino)
        if mark == self._read_at:
            return False
        self._read_at = mark
        self.people = self._read()
        return True

    def add(self, name: str, quota: Quota | None = None, until: float | None = None) -> Person:
        """Add a person with a token of their own; one who is there keeps theirs. Raises PeopleFileError.

        A seat that is somebody's for good is not given an end.
        """
        _check_name(name)
        self.read_if_changed()
        known = self.people.people.get(name)
        if until is not None and known is not None and known.until is None:
            raise PeopleFileError(f"{name} has a seat for good, which a lease would end: take another name")
        person = Person(known.token if known else new_uuid().replace("-", ""), quota, until)
        self._write({**self.people.people, name: person})
        return person

    def remove(self, name: str) -> None:
        """Raises PeopleFileError for one who is not there."""
        self.read_if_changed()
        left = dict(self.people.people)
        if left.pop(name, None) is None:
            raise PeopleFileError(f"the hub knows no {name!r}; there are: {', '.join(left) or 'none'}")
        self._write(left)

    def _read(self) -> People:
        try:
            given = read_toml(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise PeopleFileError(f"{self._path} cannot be read: {error}") from error
        try:
            found = msgspec.convert(given, People)
        except msgspec.ValidationError as error:
            _, why = explain_value(error, given, People, whole="the file")
            raise PeopleFileError(f"{self._path}: {why}") from error
        for name in found.people:
            _check_name(name)
        tokens = [each.token for each in found.people.values()]
        if len(set(tokens)) < len(tokens) or not all(tokens):
            raise PeopleFileError(f"{self._path}: two people have the same token, or one has none")
        return found

    def _write(self, people: dict[str, Person]) -> None:
        changed = msgspec.structs.replace(self.people, people=people)
        with rewriting(self._path) as draft:
            draft.write_text("\n".join(_write_toml(changed)), encoding="utf-8")
        self.people = changed
        found = self._path.stat()
        self._read_at = (found.st_mtime_ns, found.st_ino)


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise PeopleFileError(
            f"{name!r} is no name for a seat: give 1 to 40 small letters, digits and -, as in anna or pr-123"
        )


def _write_toml(people: People) -> Iterator[str]:
    """Tables of tables: a JSON string, number or list is one of TOML, too."""
    found = msgspec.to_builtins(people)
    tables = [(["quota"], found.get("quota", {})), (["sign_on"], found.get("sign_on") or {})]
    for name, person in found.get("people", {}).items():
        quota = person.pop("quota", None) or {}
        tables += [(["people", name], person), (["people", name, "quota"], quota)]
    for path, values in tables:
        if values:
            yield f"[{'.'.join(path)}]"
            yield from (f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None)
            yield ""
