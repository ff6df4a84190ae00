"""The declaration of a setting: a field of a dataclass.

The option, the variable, the key in ``sandbox.toml``, their help and ``docs/settings.md`` are made from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

T = TypeVar("T")

_KEY: Final = "setting"
_NOTHING: Final = (None, False, ())


@dataclass(frozen=True, slots=True)
class Setting:
    """What a setting has beside its name, type and default.

    ``metavar`` stands for its value in the help of its option. ``option`` is the name of that: None takes the
    field's, "" declares none. ``usual`` is what a command takes where nothing is given, if it is not the
    field's default; ``told`` says that in words, with ``{}`` for the value. ``applies`` names the profiles in
    which it matters, when these are not all.

    ``read`` turns a value as it is written, seen from the sandbox's directory, into one of the field's type.
    ``check``, called with the name and a value of that type, refuses it. Both raise ValueError.
    """

    help: str
    metavar: str | None = None
    option: str | None = None
    usual: Any = msgspec.UNSET
    told: str = "{}"
    applies: str = ""
    read: Callable[[Any, Path], Any] | None = None
    check: Callable[[str, Any], None] | None = None


@dataclass(frozen=True, slots=True)
class DeclaredSetting:
    """A setting with the name, the type (without None) and the default of its field."""

    name: str
    type: Any
    default: Any
    setting: Setting

    @property
    def option(self) -> str:
        """The option of the command line; empty when there is none."""
        given = self.setting.option
        return f"--{self.name.replace('_', '-')}" if given is None else given

    @property
    def usual(self) -> Any:
        """What a command takes where nothing is given."""
        return self.default if self.setting.usual is msgspec.UNSET else self.setting.usual

    @property
    def told(self) -> str:
        """The same in words; empty when nothing is."""
        if self.usual in _NOTHING and self.setting.told == "{}":
            return ""
        return self.setting.told.format(self.usual)

    def read(self, written: Any, directory: Path) -> Any:
        """The value, of the field's type or for msgspec to convert. Raises ValueError."""
        return self.setting.read(written, directory) if self.setting.read else written

    def check(self, value: Any) -> None:
        """Raises ValueError for a value that cannot be used."""
        if self.setting.check:
            self.setting.check(self.name, value)

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that there are; empty when they are not counted."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def item(self) -> Any:
        """The type of each value of a setting that has several; None of any other."""
        return get_args(self.type)[0] if get_origin(self.type) is tuple else None


def setting(default: T, help_: str, **further: Any) -> T:
    """Declare a field: its default, the sentence of help, and what else ``Setting`` has."""
    declaration: T = field(default=default, metadata={_KEY: Setting(help_, **further)})
    return declaration


def declared(shape: type) -> dict[str, DeclaredSetting]:
    """The settings of a dataclass by name, in its order."""
    hints = get_type_hints(shape)
    return {
        each.name: DeclaredSetting(each.name, _bare(hints[each.name]), each.default, each.metadata[_KEY])
        for each in fields(shape)
        if _KEY in each.metadata
    }


def _bare(kind: Any) -> Any:
    """The type without None."""
    if get_origin(kind) in {Union, UnionType}:
        return next(each for each in get_args(kind) if each is not NoneType)
    return kind
