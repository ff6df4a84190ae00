"""The extensions that are installed beside the sandbox, found by their entry points.

The files of entry points are read here and not by ``importlib.metadata``, whose parser takes a third of the
time that ``sandbox --help`` has.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from rdss_sandbox.extension import Extension, Place, Port, import_place

GROUP: Final = "rdss_sandbox.extensions"
_Sort: TypeAlias = Literal["faults", "rules", "clauses", "channels"]
_T = TypeVar("_T")


class Installed(NamedTuple):
    """The extensions that could be loaded, and a line for each that could not, or that lacks a part."""

    extensions: tuple[Extension, ...]
    failures: list[str]


@cache
def find_installed() -> Installed:
    """Load every extension once. One whose package is gone is not there; one that fails is told."""
    found: dict[str, Extension] = {}
    failures = []
    for name, place in sorted(set(_entry_points())):
        try:
            extension = import_place(place)
        except Exception as error:  # noqa: BLE001 -- whatever another package's code raises
            if not _is_gone(error, place):
                failures.append(f"the extension {name} ({place}) could not be loaded: {error!r}")
        else:
            found[extension.name] = extension
    return Installed(tuple(found.values()), failures)


def list_extensions() -> tuple[Extension, ...]:
    """All that could be loaded."""
    return find_installed().extensions


def list_ports() -> list[tuple[str, Port]]:
    """Every port of an extension, with its name."""
    return [port for extension in list_extensions() for port in extension.ports.items()]


def find_contract(name: str) -> str | None:
    """The file of the document that an extension has under this name."""
    for extension in list_extensions():
        for package, _, file in (each.partition(":") for each in extension.contracts):
            if os.path.splitext(file)[0] == name:  # noqa: PTH122
                for module in _import_part(extension, package):
                    return os.path.join(os.path.dirname(module.__file__ or ""), file)  # noqa: PTH118, PTH120
    return None


def with_declared(what: _Sort, own: Iterable[_T], name_of: Callable[[_T], str]) -> tuple[_T, ...]:
    """Ours, and behind them what the extensions declare of this sort.

    One whose name is taken is left out, and told.
    """
    found = [*own]
    names = {name_of(each) for each in found}
    for extension, part in import_declared(what):
        if (name := name_of(part)) in names:
            _tell(f"one of the {what} of the extension {extension} is left out: the name {name} is taken")
        else:
            names.add(name)
            found.append(part)
    return tuple(found)


@cache
def import_declared(what: _Sort) -> tuple[tuple[str, Any], ...]:
    """Import what the extensions declare of this sort, once, each with its extension's name.

    What fails is told, and the rest is there.
    """
    return tuple(
        (extension.name, part)
        for extension in list_extensions()
        for place in getattr(extension, what)
        for part in _import_part(extension, place)
    )


def import_parts(what: Literal["component", "settings"]) -> dict[str, Any]:
    """Import this part of every extension that has it, by the extension's name. What fails is told."""
    return {
        extension.name: part
        for extension in list_extensions()
        if (place := getattr(extension, what))
        for part in _import_part(extension, place)
    }


def _import_part(extension: Extension, place: Place) -> Iterator[Any]:
    """Give what is at the place, or nothing where it fails: then a line says so, once."""
    try:
        yield import_place(place)
    except Exception as error:  # noqa: BLE001 -- whatever another package's code raises
        _tell(f"{place}, of the extension {extension.name}, could not be loaded: {error!r}")


def _tell(why: str) -> None:
    if why not in (failures := find_installed().failures):
        failures.append(why)


def _is_gone(error: Exception, place: Place) -> bool:
    """Whether the extension's own module is missing: an installation outlives a folder that was deleted."""
    module = place.partition(":")[0]
    return isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}.")


def _entry_points() -> Iterator[tuple[str, Place]]:
    for folder in dict.fromkeys(sys.path):
        # A folder or a file of another package that cannot be read is not ours to complain of.
        with suppress(OSError):
            for name in os.listdir(folder or "."):  # noqa: PTH208 -- a start has no time for paths
                if name.endswith("-info"):
                    yield from _read_file(os.path.join(folder, name, "entry_points.txt"))  # noqa: PTH118


def _read_file(file: str) -> Iterator[tuple[str, Place]]:
    with suppress(OSError, UnicodeDecodeError), open(file, encoding="utf-8") as opened:  # noqa: PTH123
        if GROUP in (text := opened.read()):
            yield from _read_group(text)


def _read_group(text: str) -> Iterator[tuple[str, Place]]:
    """The names and places in the group's section, as ``name = module:name`` (entry points specification)."""
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, place = line.partition("=")
            yield name.strip(), place.strip()
