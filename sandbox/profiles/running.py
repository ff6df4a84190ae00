"""The record of the sandbox that runs in a directory; later commands find the sandbox by it."""

from __future__ import annotations

import os
import shlex
import socket
import tempfile
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from emulator.machine import private_files, process_ids
from emulator.settings.settings import STATE_DIRECTORY
from rdss_sandbox.aws_environment import trust_environment
from rdss_sandbox.files.rewriting import rewriting
from rdss_sandbox.shapes.status import Addresses, Doors

_CONNECT_SECONDS = 2.0


class Running(Addresses, frozen=True, kw_only=True):
    """The addresses and the process of a running sandbox; ``sandbox up --json`` prints them.

    ``amqp`` may still be starting. ``born`` is the process's start time as the machine counts it; it
    distinguishes the process from a later one with the same pid. ``stack`` is the name of a stack of
    containers, which has no ``pid``. ``notes`` are for the user. ``damage`` names the data of an earlier
    sandbox that was not found, ``doors`` what listens and who may come in. ``contract`` is the path of
    the document by which it judges messages; None is RDSS's contract.
    """

    pid: int | None
    profile: str
    data_dir: str
    born: str | None = None
    stack: str | None = None
    notes: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    amqp_management: str | None = None
    doors: Doors | None = None
    contract: str | None = None

    @property
    def variables(self) -> dict[str, str]:
        """The variables that point AWS clients at the sandbox, those of all of them."""
        credentials = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        if self.profile == "aws":
            credentials = {}  # This profile needs the shell's own credentials.
        elif self.token:
            credentials["AWS_SESSION_TOKEN"] = self.token
        regions = {"AWS_DEFAULT_REGION": self.region, "AWS_REGION": self.region}
        return {"AWS_ENDPOINT_URL": self.aws, **credentials, **regions, **trust_environment(self.trust)}

    @property
    def exports(self) -> str:
        """The shell line that sets the variables."""
        return " ".join(("export", *(f"{name}={shlex.quote(text)}" for name, text in self.variables.items())))

    @property
    def who(self) -> str:
        """The process or stack, in words."""
        return f"process {self.pid}" if self.stack is None else f"the containers of {self.stack}"

    @property
    def alive(self) -> bool:
        """Whether the process still runs, or the control API of the containers still listens."""
        if self.pid is None:
            parts = urlsplit(self.control)
            try:
                with socket.create_connection((parts.hostname or "", parts.port or 80), _CONNECT_SECONDS):
                    return True
            except OSError:
                return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return process_ids.state(self.pid) != "Z" and process_ids.start_time(self.pid) == self.born


def state_directory(directory: Path | None = None) -> Path:
    """Where a directory's sandbox has its record and its log.

    That is in the directory, or in the folder for temporary files where nobody may write to the directory.
    """
    own, elsewhere = (directory or Path()) / STATE_DIRECTORY, _elsewhere(directory or Path())
    return elsewhere if not own.exists() and elsewhere.exists() else own


def make_state_directory(directory: Path | None = None) -> Path:
    """Make it where it can be made, and return it. Raises OSError."""
    own, elsewhere = (directory or Path()) / STATE_DIRECTORY, _elsewhere(directory or Path())
    try:
        private_files.make_directory(own)
    except OSError:
        private_files.make_directory(elsewhere.parent)
        if elsewhere.parent.stat().st_uid != os.getuid():
            raise
        private_files.make_directory(elsewhere)
        return elsewhere
    return own


def _elsewhere(directory: Path) -> Path:
    name = sha256(bytes(directory.resolve())).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"rdss-sandbox-{os.getuid()}", name)


def place(directory: Path | None = None) -> Path:
    """The file with the record of a directory's sandbox."""
    return state_directory(directory) / "running.json"


def read(directory: Path | None = None) -> Running | None:
    """Read the record, whether the sandbox runs or not; None without a readable record."""
    try:
        return msgspec.json.decode(place(directory).read_bytes(), type=Running)
    except (OSError, msgspec.DecodeError):
        return None


def find(directory: Path | None = None) -> Running | None:
    """Find the running sandbox; None when there is none, or only the record of a dead one."""
    written = read(directory)
    return written if written is not None and written.alive else None


def trust_authority(running: Running) -> None:
    """Have this process, and those that it starts, trust the authority of the sandbox's certificate."""
    os.environ.update(trust_environment(running.trust))


def write(running: Running, directory: Path | None = None) -> None:
    """Write the record, readable only by this user because it has the token."""
    with rewriting(make_state_directory(directory) / "running.json", fsync=False) as draft:
        draft.write_bytes(msgspec.json.encode(running) + b"\n")


def remove(pid: int | None, directory: Path | None = None) -> None:
    """Remove the record of this process; the record of another process is left alone."""
    written = read(directory)
    if written is not None and written.pid == pid:
        place(directory).unlink(missing_ok=True)
