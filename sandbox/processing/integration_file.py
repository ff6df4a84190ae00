"""The integration file: read piece by piece, and refused with the line at which it is wrong."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from emulator.settings.setting_errors import Origins, describe_error, describe_unknown_key
from emulator.settings.setting_errors import Step as Key
from sandbox.processing.integration import DEFAULT, Integration, RouteOf, System
from sandbox.processing.integration_checks import Wrong, wrong_in
from sandbox.processing.parameters import Parameters
from sandbox.processing.steps import STEPS, Step
from sandbox.processing.telling import EVERYBODY, WAYS, ByLog, Way

Table: TypeAlias = dict[str, Any]
Shape = TypeVar("Shape")
_SECTIONS: Final = ("systems", "routes", "confirm", "parameters")
_SYNTAX: Final = re.compile(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", re.DOTALL)


class IntegrationError(ValueError):
    """A file that cannot be used: says which, where in it, what is wrong and what would do."""


def read_integration(path: Path | None) -> Integration:
    """From a TOML file; the default without one. Raises ``IntegrationError``."""
    if path is None:
        return DEFAULT
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise IntegrationError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise IntegrationError(f"{path} cannot be read: it is not text in UTF-8 ({error})") from error
    except tomllib.TOMLDecodeError as error:
        found = _SYNTAX.fullmatch(str(error))
        line = (found and found[2]) or max(1, len(text.splitlines()))
        why = found[1] if found else str(error)
        raise IntegrationError(f"{path}:{line}: this is no TOML: {why}") from error
    file = _File(path, text)
    integration = file.integration(document)
    for wrong in wrong_in(integration):
        raise file.refused(wrong)
    return integration


class _File:
    """The text of a file, for saying where in it something stands."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def integration(self, document: Table) -> Integration:
        if unknown := next((name for name in document if name not in _SECTIONS), None):
            raise self.refused(Wrong((unknown,), describe_unknown_key(unknown, _SECTIONS)))
        systems = {
            name: self._converted(table, System, "systems", name)
            for name, table in self._tables(document, "systems")
        }
        confirm, places = self._confirm(document)
        return Integration(
            systems=systems,
            routes=tuple(self._route(table, at) for at, table in enumerate(self._list(document, "routes"))),
            parameters=self._parameters(document),
            confirm={EVERYBODY: ByLog()} | confirm,
            places=places,
        )

    def refused(self, wrong: Wrong) -> IntegrationError:
        return IntegrationError(f"{self._at(*wrong.path).of()}: {wrong.why}")

    def _confirm(self, document: Table) -> tuple[dict[str, Way], dict[str, str]]:
        confirm: dict[str, Way] = {}
        places: dict[str, str] = {}
        for name, table in self._tables(document, "confirm"):
            confirm[name] = self._tagged(table, "by", WAYS, "a source is told by", "confirm", name)
            places[name] = self._at("confirm", name).of("url")
        return confirm, places

    def _route(self, table: Any, at: int) -> RouteOf:
        written = self._table(table, "routes", at)
        steps = self._list(written, "steps", "routes", at)
        plain = {name: value for name, value in written.items() if name != "steps"}
        route = self._converted(plain, RouteOf, "routes", at)
        taken: list[Step] = [
            self._tagged(step, "do", STEPS, "a step does", "routes", at, "steps", place)
            for place, step in enumerate(steps)
        ]
        return msgspec.structs.replace(route, steps=tuple(taken))

    def _parameters(self, document: Table) -> Parameters:
        given = self._table(document.get("parameters", {}), "parameters")
        self._only_known(given, Parameters, "parameters")
        if isinstance(ways := given.get("ways"), dict):
            self._only_known(ways, type(Parameters().ways), "parameters", "ways")
        # The framework takes sixty messages a minute from a source; a sandbox takes what comes, unless told.
        return self._converted({"throttling": None} | given, Parameters, "parameters")

    def _only_known(self, given: Table, shape: type, *path: Key) -> None:
        known = tuple(field.name for field in dataclasses.fields(shape))
        if unknown := next((name for name in given if name not in known), None):
            raise self.refused(Wrong((*path, unknown), describe_unknown_key(unknown, known)))

    def _tagged(self, table: Any, tag: str, known: dict[str, Any], does: str, *path: Key) -> Any:
        """A table of the shape that it names itself."""
        given = self._table(table, *path)
        name = given.get(tag)
        if not isinstance(name, str) or name not in known:
            close = get_close_matches(str(name), known, 1)
            meant = f" (did you mean {close[0]}?)" if close else ""
            said = f"{tag} is {name!r}{meant}" if tag in given else f"there is no {tag}"
            where = (*path, tag) if tag in given else path
            raise self.refused(Wrong(where, f"{said}; {does} one of {', '.join(known)}"))
        return self._converted(given, known[name], *path)

    def _converted(self, given: Any, shape: type[Shape], *path: Key) -> Shape:
        table = self._table(given, *path)
        try:
            return msgspec.convert(table, shape)
        except msgspec.ValidationError as error:
            raise IntegrationError(describe_error(error, table, shape, self._at(*path))) from error

    def _tables(self, document: Table, name: str) -> list[tuple[str, Any]]:
        return list(self._table(document.get(name, {}), name).items())

    def _table(self, value: Any, *path: Key) -> Table:
        if not isinstance(value, dict):
            named = ".".join(map(str, path))
            raise self.refused(Wrong(path, f"{named} is {value!r}, where a table belongs"))
        return value

    def _list(self, within: Table, name: str, *path: Key) -> list[Any]:
        value = within.get(name, [])
        if not isinstance(value, list):
            raise self.refused(Wrong((*path, name), f"{name} is {value!r}; write [[{name}]] before each"))
        return value

    def _at(self, *path: Key) -> Origins:
        return Origins(self._path, self._text, path)
