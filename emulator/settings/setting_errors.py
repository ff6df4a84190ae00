"""The texts for settings that cannot be used: their place, what is wrong, and what is allowed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

Step = str | int

_WHERE = re.compile(r"(.*?)(?: - at `\$(.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_EXPECTED = re.compile(r"[Ee]xpected `(\w+)(?: \| (\w+))?`, got `.*`")
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
_OBJECTS = (msgspec.inspect.StructType, msgspec.inspect.DataclassType)
_NOT_AMONG = re.compile(r"Invalid enum value .*")


class SettingsError(ValueError):
    """An invalid setting. The text says which one, its value, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Where settings come from: below a key of a TOML file, or for those in ``nearer`` what is said there."""

    file: Path
    text: str
    below: tuple[Step, ...]
    nearer: dict[str, str] = field(default_factory=dict)

    def of(self, *path: Step) -> str:
        """Where the setting at this path stands: ``sandbox.toml:3``, or an option's or variable's name."""
        if path and (name := str(path[0])) in self.nearer:
            return self.nearer[name]
        return f"{self.file}:{line_of(self.text, (*self.below, *path))}"

    @contextmanager
    def blamed(self, name: str) -> Iterator[None]:
        """Turn a ValueError about the setting ``name`` into a SettingsError that says where it stands."""
        try:
            yield
        except ValueError as error:
            raise SettingsError(f"{self.of(name)}: {error}") from error


def describe_error(
    error: msgspec.ValidationError, given: Mapping[str, Any], shape: type, origins: Origins
) -> str:
    """The line for what msgspec refused when ``given`` was to be of this shape."""
    found = _WHERE.fullmatch(str(error))
    assert found is not None
    what, at = found[1], found[2] or ""
    path: list[Step] = [name or int(number) for name, number in _STEP.findall(at.partition("[...]")[0])]
    unknown = _UNKNOWN.fullmatch(what)
    if unknown is not None:
        return f"{origins.of(*path, unknown[1])}: {describe_unknown_key(unknown[1], _keys(shape, path))}"
    missing = _MISSING.fullmatch(what)
    name = ".".join(str(step) for step in path)
    if missing is not None:
        return f"{origins.of(*path)}: {f'{name} has ' if name else 'there is '}no {missing[1]}; give one"
    value: Any = given
    for step in path:
        value = value[step]
    if _NOT_AMONG.fullmatch(what):
        what = f"it is one of {', '.join(map(str, _choices(shape, path)))}"
    elif (kind := _EXPECTED.fullmatch(what)) and kind[1] in _KINDS:
        what = "it is " + " or ".join(_KINDS[each] for each in kind.groups() if each in _KINDS)
    return f"{origins.of(*path)}: {name} is {value!r}: {what[:1].lower()}{what[1:]}"


def describe_unknown_key(name: str, keys: tuple[str, ...]) -> str:
    """Describe an unknown key, with the known one that is like it."""
    from difflib import get_close_matches

    close = get_close_matches(name, keys, 1)
    meant = f" (did you mean {close[0]}?)" if close else ""
    return f"there is no key {name!r}{meant}; there are: {', '.join(keys)}"


def suggest_table(name: str, tables: Sequence[str], table: str, keys: Sequence[str]) -> str:
    """Name the table, or the key of ``table``, that is like ``name`` at the top of the file; all tables."""
    from difflib import get_close_matches

    known = {**{key: f"{key} under [{table}]" for key in keys}, **{each: f"[{each}]" for each in tables}}
    close = get_close_matches(name, known, 1)
    meant = f" (did you mean {known[close[0]]}?)" if close else ""
    return f"{meant}; the tables are {', '.join(f'[{each}]' for each in tables)}"


def _keys(shape: type, path: list[Step]) -> tuple[str, ...]:
    """The names that an object at this path of the shape can have."""
    kind = _kind(shape, path)
    assert isinstance(kind, _OBJECTS)
    return tuple(each.encode_name for each in kind.fields)


def _choices(shape: type, path: list[Step]) -> tuple[object, ...]:
    """The values that there are at this path of the shape."""
    kind = _kind(shape, path)
    if isinstance(kind, msgspec.inspect.UnionType):
        return tuple(each for one in kind.types for each in _values(one))
    return _values(kind)


def _values(kind: Any) -> tuple[object, ...]:
    if isinstance(kind, msgspec.inspect.EnumType):
        return tuple(each.value for each in kind.cls)
    return tuple(kind.values) if isinstance(kind, msgspec.inspect.LiteralType) else ()


def _kind(shape: type, path: list[Step]) -> Any:
    kind: Any = msgspec.inspect.type_info(shape)
    for step in [*path, None]:
        if isinstance(kind, msgspec.inspect.UnionType):
            within = (*_OBJECTS, msgspec.inspect.VarTupleType)
            kind = next((each for each in kind.types if isinstance(each, within)), kind)
        if isinstance(kind, _OBJECTS) and step is not None:
            kind = next(each.type for each in kind.fields if each.encode_name == step)
        elif isinstance(kind, msgspec.inspect.VarTupleType):
            kind = kind.item_type
    return kind


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line, from 1, where the statement begins that sets the key at ``path``; 1 without such a key.

    ``text`` is valid TOML. The parser reads ever longer beginnings of it until the key is known. So the
    line is right for dotted keys, tables, arrays of tables, and values of several lines.
    """
    lines = text.splitlines()
    begins = 0
    for end in range(1, len(lines) + 1):
        try:
            so_far = tomllib.loads("\n".join(lines[:end]) + "\n")
        except tomllib.TOMLDecodeError:
            continue  # In the middle of a statement.
        if _has_key(so_far, path):
            return begins + 1
        begins = end
    return 1


def _has_key(value: Any, path: Sequence[str | int]) -> bool:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
