"""Reads the integration file; a mistake is refused with its line."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from emulator.settings.setting_errors import Origins, describe_error
from emulator.settings.wrong_values import Step as Key
from emulator.settings.wrong_values import describe_unknown_key
from extensions.processing.confirmation_policies import ANY_SOURCE, CONFIRM_BY, ByLog, ConfirmBy
from extensions.processing.integration import DeclaredRoute, Integration, System
from extensions.processing.integration_checks import Mistake, find_mistakes
from extensions.processing.processing_errors import IntegrationError
from extensions.processing.processing_parameters import Parameters
from extensions.processing.steps import STEPS, Step
from rdss_sandbox.text.toml_text import read_toml

Table: TypeAlias = dict[str, Any]
Shape = TypeVar("Shape")
_SECTIONS: Final = ("systems", "routes", "confirm", "parameters")
_SYNTAX: Final = re.compile(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", re.DOTALL)


def read_integration(path: Path) -> Integration:
    """Read a TOML file. Raises IntegrationError."""
    try:
        text = path.read_text(encoding="utf-8")
        document = read_toml(text)
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
    integration = file.build_integration(document)
    for wrong in find_mistakes(integration):
        raise file.build_error(wrong)
    return integration


class _File:
    """A parsed file with its text, so that an error can name the line."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def build_integration(self, document: Table) -> Integration:
        if unknown := next((name for name in document if name not in _SECTIONS), None):
            raise self.build_error(Mistake((unknown,), describe_unknown_key(unknown, _SECTIONS)))
        systems = {
            name: self._convert(table, System, "systems", name)
            for name, table in self._list_tables(document, "systems")
        }
        confirm, origins = self._convert_confirm(document)
        return Integration(
            systems=systems,
            routes=tuple(
                self._convert_route(table, at)
                for at, table in enumerate(self._require_list(document, "routes"))
            ),
            parameters=self._convert_parameters(document),
            confirm={ANY_SOURCE: ByLog()} | confirm,
            origins=origins,
        )

    def build_error(self, wrong: Mistake) -> IntegrationError:
        return IntegrationError(f"{self._origin(*wrong.path).of()}: {wrong.why}")

    def _convert_confirm(self, document: Table) -> tuple[dict[str, ConfirmBy], dict[str, str]]:
        confirm: dict[str, ConfirmBy] = {}
        origins: dict[str, str] = {}
        for name, table in self._list_tables(document, "confirm"):
            confirm[name] = self._convert_tagged(
                table, "by", CONFIRM_BY, "a source is told by", "confirm", name
            )
            origins[name] = self._origin("confirm", name).of("url")
        return confirm, origins

    def _convert_route(self, table: Any, at: int) -> DeclaredRoute:
        written = self._require_table(table, "routes", at)
        steps = self._require_list(written, "steps", "routes", at)
        plain = {name: value for name, value in written.items() if name != "steps"}
        route = self._convert(plain, DeclaredRoute, "routes", at)
        converted: list[Step] = [
            self._convert_tagged(step, "do", STEPS, "a step does", "routes", at, "steps", place)
            for place, step in enumerate(steps)
        ]
        return msgspec.structs.replace(route, steps=tuple(converted))

    def _convert_parameters(self, document: Table) -> Parameters:
        given = self._require_table(document.get("parameters", {}), "parameters")
        self._refuse_unknown(given, Parameters, "parameters")
        if isinstance(ways := given.get("ways"), dict):
            self._refuse_unknown(ways, type(Parameters().ways), "parameters", "ways")
        # The framework accepts sixty messages a minute from a source; a sandbox has no limit by default.
        return self._convert({"throttling": None} | given, Parameters, "parameters")

    def _refuse_unknown(self, given: Table, shape: type, *path: Key) -> None:
        known = tuple(field.name for field in dataclasses.fields(shape))
        if unknown := next((name for name in given if name not in known), None):
            raise self.build_error(Mistake((*path, unknown), describe_unknown_key(unknown, known)))

    def _convert_tagged(self, table: Any, tag: str, known: dict[str, Any], does: str, *path: Key) -> Any:
        """Convert a table to the shape that its own ``tag`` key names."""
        given = self._require_table(table, *path)
        name = given.get(tag)
        if not isinstance(name, str) or name not in known:
            from difflib import get_close_matches

            close = get_close_matches(str(name), known, 1)
            meant = f" (did you mean {close[0]}?)" if close else ""
            problem = f"{tag} is {name!r}{meant}" if tag in given else f"there is no {tag}"
            where = (*path, tag) if tag in given else path
            raise self.build_error(Mistake(where, f"{problem}; {does} one of {', '.join(known)}"))
        return self._convert(given, known[name], *path)

    def _convert(self, given: Any, shape: type[Shape], *path: Key) -> Shape:
        table = self._require_table(given, *path)
        try:
            return msgspec.convert(table, shape)
        except msgspec.ValidationError as error:
            raise IntegrationError(describe_error(error, table, shape, self._origin(*path))) from error

    def _list_tables(self, document: Table, name: str) -> list[tuple[str, Any]]:
        return list(self._require_table(document.get(name, {}), name).items())

    def _require_table(self, value: Any, *path: Key) -> Table:
        if not isinstance(value, dict):
            named = ".".join(map(str, path))
            raise self.build_error(Mistake(path, f"{named} is {value!r}, where a table belongs"))
        return value

    def _require_list(self, within: Table, name: str, *path: Key) -> list[Any]:
        value = within.get(name, [])
        if not isinstance(value, list):
            raise self.build_error(
                Mistake((*path, name), f"{name} is {value!r}; write [[{name}]] before each")
            )
        return value

    def _origin(self, *path: Key) -> Origins:
        return Origins(self._path, self._text, path)
