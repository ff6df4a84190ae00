"""The sandbox started in a directory: written down when it is ready, found by every later command."""

from __future__ import annotations

import os
import shlex
import socket
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from emulator.machine import private_files, process_ids
from emulator.settings.settings import STATE_DIRECTORY

_CONNECT_SECONDS = 2.0


class Running(msgspec.Struct, frozen=True):
    """Where a sandbox answers and which process it is; this is what ``sandbox up --json`` prints.

    ``amqp`` is where RabbitMQ answers once it is up, None where there is none. ``born`` is the process's
    start as the machine counts it, which tells it from a later one of the same pid. A ``stack`` of containers
    is known by its name and has no ``pid``. ``notes`` are what people should know of how it stands.
    is known by its name and has no ``pid``. ``damage`` says what of an earlier sandbox's data was not found.
    """

    aws: str
    control: str
    amqp: str | None
    pid: int | None
    profile: str
    seed: int
    region: str
    data_dir: str
    token: str | None = None
    born: str | None = None
    stack: str | None = None
    queues: str | None = None
    topics: str | None = None
    notes: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()

    @property
    def exports(self) -> str:
        """The line that points every AWS client of a shell at it; not all of them read the same variables."""
        credentials = "AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test "
        if self.profile == "aws":
            credentials = ""  # The shell's own are what makes this profile work.
        elif self.token:
            credentials += f"AWS_SESSION_TOKEN={shlex.quote(self.token)} "
        name = shlex.quote(self.region)
        region = f"AWS_DEFAULT_REGION={name} AWS_REGION={name}"
        return f"export AWS_ENDPOINT_URL={self.aws} {credentials}{region}"

    @property
    def who(self) -> str:
        """What runs, in words."""
        return f"process {self.pid}" if self.stack is None else f"the containers of {self.stack}"

    @property
    def alive(self) -> bool:
        """Whether that process still runs, or the containers' control API still listens."""
        if self.pid is None:
            return _listens(self.control)
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return process_ids.state(self.pid) != "Z" and process_ids.start_time(self.pid) == self.born


def place(directory: Path | None = None) -> Path:
    """The file in which a directory's sandbox is written down."""
    return (directory or Path()) / STATE_DIRECTORY / "running.json"


def read(directory: Path | None = None) -> Running | None:
    """What is written down, whether it runs or not; None when there is nothing that can be read."""
    try:
        return msgspec.json.decode(place(directory).read_bytes(), type=Running)
    except (OSError, msgspec.DecodeError):
        return None


def find(directory: Path | None = None) -> Running | None:
    """The sandbox that runs; None when there is none, or only what one left behind that died."""
    written = read(directory)
    return written if written is not None and written.alive else None


def write(running: Running, directory: Path | None = None) -> None:
    """Write it down for others to find, readable only by this user since the token is in it."""
    path = place(directory)
    private_files.make_directory(path.parent)
    draft = path.with_suffix(f".{running.pid}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, private_files.FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(running) + b"\n")
    draft.replace(path)


def remove(pid: int | None, directory: Path | None = None) -> None:
    """Forget the sandbox of this process; another's is left alone."""
    written = read(directory)
    if written is not None and written.pid == pid:
        place(directory).unlink(missing_ok=True)


def _listens(url: str) -> bool:
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 80), _CONNECT_SECONDS):
            return True
    except OSError:
        return False
