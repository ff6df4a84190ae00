"""The contract of the messages that commands send, receive and judge."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from sandbox.cli.options.setting_options import SETTINGS
from sandbox.cli.output.exit_codes import CommandFailedError, Exit

if TYPE_CHECKING:
    from schemas.contract import Contract, Peek

F = TypeVar("F", bound=Callable[..., Any])
_OF_RDSS: Final = frozenset({"adaptor", "application", "demo", "learn"})


def bind_contract(command: str | None) -> None:
    """Bind this process, and those that it starts, to the contract of this directory.

    It is that of the environment, of ``sandbox.toml``, or of the sandbox that was started here. Raises
    CommandFailedError where the ``command`` is of RDSS's messages, and the contract is not.
    """
    from emulator.settings.setting_errors import SettingsError
    from emulator.settings.settings import read_settings
    from sandbox.profiles import running

    document: str | Path | None = os.environ.get("SANDBOX_CONTRACT")
    if document is None:
        # A command that reads the settings says what is wrong with them.
        with suppress(SettingsError):
            document = read_settings({}, os.environ).contract
    # Whether containers still run takes a call to find out, so it is asked last.
    if document is None and (started := running.read()) and started.contract and started.alive:
        document = started.contract
    if document and command in _OF_RDSS:
        raise CommandFailedError(
            f"sandbox {command} is of the RDSS Message API, and the contract here is {document}", Exit.USAGE
        )
    bind(document)


def bind(document: str | Path | None) -> None:
    """Bind this process to the contract of a document, before the contract is imported; None is RDSS's."""
    if document:
        from emulator.settings.settings import read_contract

        os.environ["SANDBOX_CONTRACT"] = str(read_contract(document, Path()).resolve())


def load_contract() -> Contract:
    """The contract that this process is bound to; importing it takes time, so no command does on its own."""
    from schemas.bound import CONTRACT

    return CONTRACT


def name_message(peek: Peek) -> dict[str, str | None]:
    """The id and type of a message, by their names in it, for rows of JSON."""
    return {
        field.spelling: getattr(peek, field.attribute)
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
