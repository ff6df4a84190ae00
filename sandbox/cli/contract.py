"""The contract for validation by a command: the specification's text, or the published schema files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from sandbox.cli.setting_options import SETTINGS

F = TypeVar("F", bound=Callable[..., Any])


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
