"""The contract of the messages that commands send, receive and judge."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sandbox.cli.options.setting_options import SETTINGS

if TYPE_CHECKING:
    from schemas.contract import Contract, Peek

F = TypeVar("F", bound=Callable[..., Any])


def load_contract() -> Contract:
    """The contract that this process is bound to; importing it takes time, so no command does on its own."""
    from schemas.bound import CONTRACT

    return CONTRACT


def name_message(seen: Peek) -> dict[str, str | None]:
    """The id and type of a message, by their names in it, for rows of JSON."""
    return {
        field.spelling: getattr(seen, field.attribute)
        for field in load_contract().fields
        if field.name in {"id", "type"}
    }


def as_published_option(command: F) -> F:
    """Add the option ``--as-published``, for commands that validate messages."""
    return click.option(
        "--as-published",
        is_flag=True,
        callback=_given_or_set,
        help=SETTINGS["as_published"].setting.help,
    )(command)


def _given_or_set(_ctx: click.Context, _option: click.Parameter, given: bool) -> bool:
    from emulator.settings.settings import read_settings

    return given or read_settings({}, os.environ).as_published
