"""A seat: the process of one person's sandbox, forked from one that has imported everything."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

from emulator.machine import private_files
from emulator.settings.settings import Settings
from extensions.hub.seat_messages import StartSeat
from extensions.hub.seat_state import keeping_state
from rdss_sandbox.installed_extensions import import_parts
from sandbox.profiles.in_process import LOG_NAME, event_loop_factory, serve
from sandbox.profiles.running import Running, make_state_directory

_AHEAD: Final = (
    *(
        "emulator.assembly.embedded",
        "emulator.relay.amqp.amqp_server",
        "emulator.relay.amqp.embedded_upstream",
    ),
    *("sandbox.control.run_pages", "sandbox.control.scenarios", "stringprep", "encodings.idna"),
)
"""What a start imports; what it imports for some requests alone is left to those."""


def import_ahead() -> None:
    """Import what a sandbox needs to start, so that a fork of this process has it."""
    for name in _AHEAD:
        import_module(name)
    import_parts("component")
    event_loop_factory()


def run_seat(
    shared: Settings, folder: Path, asked: StartSeat, tell: Callable[[Running], None], orphaned: int
) -> None:
    """Run a person's sandbox in their folder until SIGTERM, or until ``orphaned`` can be read.

    ``shared`` are the settings of all seats. ``tell`` is called when it answers. Raises CannotStartError.
    """
    private_files.make_directory(folder)
    os.chdir(folder)
    _write_to(make_state_directory() / LOG_NAME)
    settings = replace(shared, token=asked.token, data_dir=folder / "data")

    def ready(running: Running) -> None:
        asyncio.get_running_loop().add_reader(orphaned, partial(os.kill, os.getpid(), signal.SIGTERM))
        tell(running)

    serve(settings, ready, (keeping_state(folder / "state.json"),))


def _write_to(log: Path) -> None:
    """Have what this process says go to a file of its own."""
    silent, said = (
        os.open(os.devnull, os.O_RDONLY),
        os.open(private_files.touch(log), os.O_WRONLY | os.O_TRUNC),
    )
    for descriptor, of in ((silent, 0), (said, 1), (said, 2)):
        os.dup2(descriptor, of)
    os.close(silent)
    os.close(said)
