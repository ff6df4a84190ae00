"""Reads settings from options, the environment and a table of ``sandbox.toml``.

An option wins over a variable, which wins over the file, which wins over the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from emulator.settings.declarations import DeclaredSetting, declared
from emulator.settings.setting_errors import (
    Origins,
    SettingsError,
    describe_error,
    line_of,
    suggest_table,
)
from emulator.settings.wrong_values import describe_unknown_key
from rdss_sandbox.text.toml_text import read_toml

FILE_NAME = "sandbox.toml"
TABLES = ("sandbox", "gateway")
"""The tables that the file can have."""


def variable_of(table: str, name: str) -> str:
    """The environment variable of a setting: ``SANDBOX_SEED``, ``SANDBOX_GATEWAY_QUEUE``."""
    return "_".join(("SANDBOX", *([] if table == "sandbox" else [table]), name)).upper()


def read_table(
    shapes: Sequence[type],
    table: str,
    options: Mapping[str, Any],
    environment: Mapping[str, str],
    directory: Path,
) -> tuple[list[Any], set[str]]:
    """The settings of each shape, and the names of those that were given; options that are None are not.

    ``table`` is their table in the directory's file. Raises SettingsError, which names the file and line, the
    option or the variable, and says why.
    """
    settings = {name: each for shape in shapes for name, each in declared(shape).items()}
    text, merged = _read_file(directory / FILE_NAME, table, tuple(settings))
    origins = Origins(directory / FILE_NAME, text, (table,))
    for name, setting in settings.items():
        variable = variable_of(table, name)
        if (value := environment.get(variable)) is not None:
            merged[name] = _parse_variable(setting, variable, value)
            origins.nearer[name] = f"{variable} in the environment"
    for name, value in options.items():
        if value is not None:
            merged[name] = value
            origins.nearer[name] = settings[name].option if name in settings else f"--{name}"
    for name in merged.keys() - settings.keys():
        raise SettingsError(f"{origins.of(name)}: {describe_unknown_key(name, tuple(settings))}")
    given = {name for name, value in merged.items() if value != ""}
    for name, setting in settings.items():
        with origins.blamed(name):
            merged[name] = setting.read(merged.get(name, setting.usual), directory)
    return [_convert(shape, merged, origins) for shape in shapes], given


def _convert(shape: type, merged: dict[str, Any], origins: Origins) -> Any:
    ours = declared(shape)
    written = {name: merged[name] for name in ours}
    try:
        found: Any = msgspec.convert(written, shape, strict=False, dec_hook=_convert_path)
    except msgspec.ValidationError as error:
        raise SettingsError(describe_error(error, written, shape, origins)) from error
    for name, setting in ours.items():
        with origins.blamed(name):
            setting.check(getattr(found, name))
    return found


def _read_file(path: Path, table: str, names: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """The file's text and the settings in its table, which can be those of ``names``."""
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        tables = read_toml(text)
    except FileNotFoundError:
        return "", {}
    except (OSError, ValueError) as error:
        why = str(error).replace("at end of document", f"at line {len(text.splitlines())}, the last")
        raise SettingsError(f"{path} cannot be read: {why}") from error
    if unknown := next(iter(tables.keys() - set(TABLES)), None):
        line = line_of(text, (unknown,))
        is_table = isinstance(tables[unknown], dict | list)
        wrong = f"there is no table [{unknown}]" if is_table else f"{unknown} is in no table"
        raise SettingsError(f"{path}:{line}: {wrong}{suggest_table(unknown, TABLES, table, names)}")
    found = tables.get(table, {})
    if not isinstance(found, dict):
        raise SettingsError(f"{path}: [{table}] must be a table of settings")
    return text, found


def _parse_variable(setting: DeclaredSetting, variable: str, text: str) -> Any:
    """Parse an environment variable: names are separated by commas, and several objects are JSON."""
    if setting.item is None:
        return text
    if setting.item is str:
        return [each.strip() for each in text.split(",") if each.strip()]
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise SettingsError(f"{variable} is not JSON: {error}") from error


def _convert_path(_type: type, value: object) -> Path:
    """The conversion of the only type that msgspec does not know."""
    if isinstance(value, Path):
        return value
    raise ValueError(f"expected `str`, got `{type(value).__name__}`")
