from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import click

from emulator.settings.declarations import declared
from emulator.settings.settings import shapes
from rdss_sandbox.installed_extensions import list_ports
from sandbox.cli.options.setting_options import arguments, setting_option
from sandbox.cli.output.exit_codes import CommandFailedError, Exit

_OF_EXTENSIONS = {
    name: each for shape in shapes()[1:] for name, each in declared(shape).items() if each.type is Path
}
_SETTINGS = (
    "topology",
    "contract",
    "tls",
    "region",
    "seed",
    "limits",
    "lambda_loaders",
    "transition_seconds",
    *_OF_EXTENSIONS,
    "faults",
)
_FILES = ("topology", "contract", *_OF_EXTENSIONS)
_BY_A_SIGNAL = 128
_FROM_KEYS = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (*_FROM_KEYS, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def _setting_options(command: Any) -> Any:
    for name in reversed(_SETTINGS):
        command = setting_option(name)(command)
    # Alone it asks for the sandbox's own broker.
    return setting_option("amqp", is_flag=False, flag_value="embedded")(command)


# What stands behind the first word of COMMAND is COMMAND's, with or without "--".
@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND [ARG]...")
@_setting_options
def run(command: tuple[str, ...], **options: Any) -> int:
    """Run COMMAND with a sandbox of its own: in memory, on free ports, gone afterwards.

    COMMAND's environment points AWS SDKs at the sandbox. SANDBOX_CONTROL is the URL of the control API, which
    commands of this program use, too; SANDBOX_AMQP_URL, SANDBOX_QUEUES and SANDBOX_TOPICS are those of AMQP,
    queues and topics. Settings of sandbox.toml and of the environment do not apply. The exit code is
    COMMAND's, 128 and the number of the signal that ended it, or 3 where it cannot be started.
    """
    from rdss_sandbox.aws_environment import aws_environment, leading_elsewhere
    from rdss_sandbox.process import SandboxNotStartedError, sandbox_process

    _handle_signals(_end)
    given = {name: _from_anywhere(name, value) for name, value in options.items() if value is not None}
    try:
        with sandbox_process(*arguments(given)) as running:
            inherited = {
                name: value for name, value in os.environ.items() if name not in leading_elsewhere(os.environ)
            }
            addresses = {
                "SANDBOX_CONTROL": running.control,
                **{f"SANDBOX_{name.upper()}": running.ports.get(name, "") for name, _ in list_ports()},
                "SANDBOX_AMQP_URL": running.amqp or "",
                **({"SANDBOX_CONTRACT": given["contract"]} if "contract" in given else {}),
            }
            pointed = aws_environment(running.aws, running.region, trust=running.trust)
            return _run(command, {**inherited, **pointed, **addresses})
    except SandboxNotStartedError as error:
        reason = str(error).splitlines()[-1].removeprefix("sandbox: ")
        raise CommandFailedError(
            reason, Exit.USAGE if error.code == Exit.USAGE else Exit.ENVIRONMENT
        ) from error


def _from_anywhere(name: str, value: Any) -> Any:
    """A file's path from any directory; the sandbox has one of its own."""
    return os.path.abspath(value) if name in _FILES and os.path.isfile(value) else value  # noqa: PTH100, PTH113


def _handle_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    """Handle what is passed on to the command, except for signals that the caller has ignored: nohup does."""
    for number in _PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            # A handler is not inherited by the command, which SIG_IGN would be.
            signal.signal(number, handler)


def _end(number: int, _frame: FrameType | None) -> None:
    """End as the signal would, and tidy up: the command is not there yet."""
    raise SystemExit(_BY_A_SIGNAL + number)


def _run(command: tuple[str, ...], environment: dict[str, str]) -> int:
    """Run the command to its end, and end what it leaves running."""
    from emulator.machine.marked_processes import add_mark, kill_marked
    from emulator.rng import new_uuid
    from rdss_sandbox.machine.watchdog import start_mark_watchdog, stopping, watchdog

    mark = new_uuid()
    with stopping(start_mark_watchdog(mark)):
        try:
            process = subprocess.Popen(command, env=add_mark(environment, mark))

            def pass_on(number: int, _frame: FrameType | None) -> None:
                if not _comes_from_keys(number):
                    with suppress(ProcessLookupError):
                        process.send_signal(number)

            _handle_signals(pass_on)
            with watchdog(process.pid):
                code = process.wait()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise CommandFailedError(f"{command[0]} cannot be started: {why}", Exit.ENVIRONMENT) from error
        finally:
            kill_marked(mark)
    return code if code >= 0 else _BY_A_SIGNAL - code


def _comes_from_keys(number: int) -> bool:
    """Whether a terminal sent this signal, and so to the command too, which decides what comes of it."""
    if number not in _FROM_KEYS:
        return False
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)
