"""What is said of a setting that cannot be used: where it stands, what is wrong, and what would do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from emulator.settings.toml_lines import line_of

Step = str | int

_WHERE = re.compile(r"(.*?)(?: - at `\$(.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")


@dataclass(frozen=True, slots=True)
class Origins:
    """Where settings come from: a table of a TOML file, or for those in ``nearer`` what is said there."""

    file: Path
    text: str
    table: str
    nearer: dict[str, str] = field(default_factory=dict)

    def of(self, *path: Step) -> str:
        """Where the setting at this path stands: ``sandbox.toml:3``, or an option's or variable's name."""
        name = str(path[0])
        if name in self.nearer:
            return self.nearer[name]
        return f"{self.file}:{line_of(self.text, (self.table, *path))}"


def described(error: msgspec.ValidationError, given: Mapping[str, Any], shape: type, origins: Origins) -> str:
    """The line for what msgspec refused when ``given`` was to be of this shape."""
    found = _WHERE.fullmatch(str(error))
    assert found is not None
    what, at = found[1], found[2] or ""
    path: list[Step] = [name or int(number) for name, number in _STEP.findall(at.partition("[...]")[0])]
    unknown = _UNKNOWN.fullmatch(what)
    if unknown is not None:
        return f"{origins.of(*path, unknown[1])}: {_no_such(unknown[1], _keys(shape, path))}"
    value: Any = given
    for step in path:
        value = value[step]
    name = ".".join(map(str, path))
    return f"{origins.of(*path)}: {name} is {value!r}: {what[:1].lower()}{what[1:]}"


def _no_such(name: str, keys: tuple[str, ...]) -> str:
    close = get_close_matches(name, keys, 1)
    meant = f" (did you mean {close[0]}?)" if close else ""
    return f"there is no key {name!r}{meant}; there are: {', '.join(keys)}"


def _keys(shape: type, path: list[Step]) -> tuple[str, ...]:
    """The names that an object at this path of the shape can have."""
    kind: Any = msgspec.inspect.type_info(shape)
    for step in [*path, None]:
        if isinstance(kind, msgspec.inspect.UnionType):
            kind = next(
                each
                for each in kind.types
                if isinstance(each, msgspec.inspect.StructType | msgspec.inspect.VarTupleType)
            )
        if isinstance(kind, msgspec.inspect.StructType) and step is not None:
            kind = next(each.type for each in kind.fields if each.encode_name == step)
        elif isinstance(kind, msgspec.inspect.VarTupleType):
            kind = kind.item_type
    assert isinstance(kind, msgspec.inspect.StructType)
    return tuple(each.encode_name for each in kind.fields)
