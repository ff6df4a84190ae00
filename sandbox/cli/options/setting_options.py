"""Options of the command line made from the declarations of settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Final, TypeVar

import click

from emulator.settings.declarations import DeclaredSetting, declared
from emulator.settings.settings import shapes

F = TypeVar("F", bound=Callable[..., Any])

SETTINGS: Final = {name: each for shape in shapes() for name, each in declared(shape).items()}


def setting_options(command: F) -> F:
    """Add an option for every setting that has one, in the order of their declarations."""
    options = [setting_option(name) for name, setting in SETTINGS.items() if setting.option]
    return reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


def setting_option(name: str, **form: Any) -> Callable[[F], F]:
    """Make the option of one setting; a command gets None, or of several values (), where it is not given.

    ``form`` is what one command has otherwise, in click's words.
    """
    setting = SETTINGS[name]
    usual = f"  [default: {setting.told}]" if setting.told else ""
    return click.option(
        setting.option,
        name,
        help=setting.setting.help + usual,
        metavar=setting.setting.metavar,
        **_kind(setting) | form,
    )


def arguments(given: Mapping[str, Any]) -> list[str]:
    """The command line that gives these settings to another process."""
    found: list[str] = []
    for name, value in given.items():
        option = SETTINGS[name].option
        for each in value if isinstance(value, tuple) else (value,):
            found += [option] if each is True else [option, str(each)]
    return found


def _kind(setting: DeclaredSetting) -> dict[str, Any]:
    if setting.type is bool:
        return {"is_flag": True, "default": None}
    if setting.item is not None:
        return {"multiple": True}
    if setting.choices and not setting.setting.read:
        return {"type": click.Choice(setting.choices)}
    # A duration is written with its unit.
    return {"type": setting.type} if setting.type in {int, float} and not setting.setting.read else {}
