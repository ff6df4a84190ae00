"""A sandbox as one process of this machine: in the foreground or detached, and stopping it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from emulator.clock import Clock
from emulator.machine import private_files, process_ids
from emulator.machine.resident_memory import returning_freed_memory
from emulator.machine.short_collections import collecting_shortly
from emulator.settings.settings import RDSS_TOPOLOGY, Settings
from rdss_sandbox.machine.watchdog import watchdog
from sandbox.profiles import running
from sandbox.profiles.running import Running

if TYPE_CHECKING:
    from emulator.assembly.embedded import Embedded, MakeResources

LOG_NAME = "sandbox.log"

READY_SECONDS = 30.0
_STOP_SECONDS = 40.0
_LOOK_SECONDS = 0.02


class CannotStartError(Exception):
    """The environment does not allow a start: a port or directory is in use, or a sandbox runs already."""


class NotReadyError(CannotStartError):
    """The sandbox did not answer in time, and was ended."""


class CannotStopError(Exception):
    """The sandbox cannot be stopped."""


def refuse_second(directory: Path | None = None) -> None:
    """Raise CannotStartError when a sandbox of this directory is already running."""
    found = running.find(directory)
    if found is not None:
        raise CannotStartError(
            f"a sandbox runs here already ({found.who}, {found.control}); sandbox down stops it"
        )


def serve(settings: Settings, ready: Callable[[Running], None], more: Iterable[MakeResources] = ()) -> None:
    """Run a sandbox until SIGINT or SIGTERM; ``ready`` is called when it answers.

    ``more`` builds further resources of the control API, as for ``Embedded``. Raises CannotStartError.
    """
    os.umask(private_files.UMASK)
    # What a start makes stays. To look through it again and again for garbage would take 20 ms of the start.
    gc.disable()
    with returning_freed_memory(), asyncio.Runner(loop_factory=event_loop_factory()) as runner:
        runner.run(_serve(settings, ready, more))


async def _serve(settings: Settings, ready: Callable[[Running], None], more: Iterable[MakeResources]) -> None:
    from emulator.assembly.component import CannotRunError
    from emulator.assembly.data_directory import DirectoryInUseError
    from emulator.assembly.embedded import Embedded
    from emulator.assembly.own_infrastructure import UpstreamFailedError
    from emulator.journal import DamagedLogError
    from emulator.journal.format_mark import OtherFormatError
    from emulator.machine.port_tls import TlsFilesError
    from emulator.services.service_log import OtherVersionError
    from emulator.snapshots.snapshot_errors import SnapshotError
    from sandbox.control.run_pages import run_pages
    from sandbox.control.scenarios import scenario_resources

    asked_to_stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked_to_stop.set)
    try:
        async with Embedded(settings, more=(scenario_resources, run_pages, *more)) as emulator:
            found = _describe(settings, emulator)
            running.write(found)
            try:
                async with _routing(settings, emulator):
                    with collecting_shortly():
                        ready(found)
                        await asked_to_stop.wait()
            finally:
                running.remove(found.pid)
    except (
        DirectoryInUseError,
        DamagedLogError,
        OtherFormatError,
        OtherVersionError,
        UpstreamFailedError,
        CannotRunError,
        SnapshotError,
        TlsFilesError,
    ) as error:
        raise CannotStartError(str(error)) from error
    except OSError as error:
        raise CannotStartError(_explain(error, settings)) from error


def _explain(error: OSError, settings: Settings) -> str:
    """Name the file, and what to do where it is one of the data."""
    why = error.strerror or str(error)
    if error.filename is None:
        return why
    of_data = settings.data_dir and Path(error.filename).is_relative_to(settings.data_dir)
    instead = "; --data-dir names another folder, and --data-dir :memory: needs none" if of_data else ""
    return f"{error.filename}: {why}{instead}"


@asynccontextmanager
async def _routing(settings: Settings, emulator: Embedded) -> AsyncIterator[None]:
    """Run the router in the topology that has one.

    It is closed on another thread, because it still sends requests that this event loop answers.
    """
    if settings.topology != RDSS_TOPOLOGY:
        yield
        return
    from sandbox.router.router import TENANT
    from sandbox.router.routing_table import RDSS_ROUTES
    from sandbox.router.running_router import routing
    from schemas.bound import CONTRACT
    from schemas.contract import describe_contract

    if all(field.name != TENANT for field in CONTRACT.fields):
        raise CannotStartError(
            f"the topology rdss routes messages by their {TENANT}, and those of "
            f"{describe_contract(CONTRACT)} have none; without topology the contract's channels are made"
        )
    with ExitStack() as stack:
        stack.enter_context(routing(emulator, RDSS_ROUTES))
        try:
            yield
        finally:
            await asyncio.to_thread(stack.pop_all().close)


def start_detached(
    options: Sequence[str],
    directory: Path | None = None,
    seconds: float = READY_SECONDS,
    command: Sequence[str] = ("up",),
) -> Running:
    """Start ``sandbox up``, or another ``command``, with these options in a detached process.

    Returns when it answers.

    ``directory`` is the sandbox's directory, by default the current one. Raises CannotStartError with the
    last line of the process when it does not answer within ``seconds``.
    """
    process, log = _launch((*command, *options), directory)
    found = _wait_for_answer(process, log, seconds)
    _abandon(process)
    return found


@contextmanager
def started(options: Sequence[str], directory: Path | None = None) -> Iterator[Running]:
    """As ``start_detached``, but for the time of the context; it also ends when this process is killed."""
    process, log = _launch(("up", *options), directory)
    with watchdog(process.pid):
        found = _wait_for_answer(process, log, READY_SECONDS)
        _abandon(process)
        try:
            yield found
        finally:
            stop(found)


def _launch(command: Sequence[str], directory: Path | None) -> tuple[subprocess.Popen[bytes], Path]:
    """Start the process; returns it and the file with its standard error."""
    refuse_second(directory)
    log = running.make_state_directory(directory) / LOG_NAME
    with private_files.touch(log).open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "sandbox", *command, "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            cwd=directory,
        )
    return process, log


def _wait_for_answer(process: subprocess.Popen[bytes], log: Path, seconds: float) -> Running:
    """Wait for the line that describes the running sandbox.

    Without it, the process is ended and CannotStartError raised: NotReadyError when it was still starting.
    """
    line = _first_line(process, seconds)
    if line:
        return msgspec.json.decode(line, type=Running)
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if line is None:
        raise NotReadyError(f"the sandbox was not ready after {seconds:g} s; what it said is in {log}")
    lines = log.read_text(errors="replace").strip().splitlines()
    raise CannotStartError(lines[-1].removeprefix("sandbox: ") if lines else f"it did not start; see {log}")


def stop(found: Running) -> None:
    """Send SIGTERM to the process and wait for its end. Raises CannotStopError when it does not end."""
    clock = Clock()
    assert found.pid is not None
    try:
        os.kill(found.pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise CannotStopError(f"process {found.pid} belongs to another user") from error
    deadline = clock.elapsed() + _STOP_SECONDS
    while found.alive:
        if clock.elapsed() > deadline:
            raise CannotStopError(
                f"process {found.pid} did not stop in {_STOP_SECONDS:.0f} s; kill -9 {found.pid} ends it"
            )
        clock.wait(_LOOK_SECONDS)


def _describe(settings: Settings, emulator: Embedded) -> Running:
    pid = os.getpid()
    return Running(
        amqp=emulator.broker.url,
        pid=pid,
        profile=settings.profile,
        seed=settings.seed,
        region=settings.region,
        data_dir=str(settings.data_dir.resolve()) if settings.data_dir else ":memory:",
        token=settings.token,
        trust=str(emulator.components.trust) if emulator.components.trust else None,
        born=process_ids.start_time(pid),
        notes=emulator.notes,
        damage=emulator.damage,
        doors=emulator.doors,
        contract=str(settings.contract.resolve()) if settings.contract else None,
        **emulator.addresses,
    )


def _abandon(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe and mark the process as ended, so that Python does not warn that it still runs."""
    if process.stdout is not None:
        process.stdout.close()
    process.returncode = 0


def _first_line(process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    """Read the first line of the process: empty when it ends, None when it prints none in ``seconds``."""
    stdout = process.stdout
    assert stdout is not None
    heard: list[bytes] = []
    listener = threading.Thread(target=lambda: heard.append(stdout.readline()), daemon=True)
    listener.start()
    listener.join(seconds)
    return heard[0] if heard else None


def event_loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The factory of uvloop's faster event loop; None where uvloop is not installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
