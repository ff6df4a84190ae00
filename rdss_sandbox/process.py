"""A sandbox in a process of its own, for as long as a test or a program wants it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec

from rdss_sandbox.watchdog import watchdog

_OURS: Final = Path(__file__).resolve().parents[1]
_STOP_SECONDS: Final = 10.0
_UP: Final = (
    *("up", "--json", "--data-dir", ":memory:", "--amqp", "off"),
    *(word for port in ("aws", "control", "queues", "topics") for word in (f"--{port}-port", "0")),
)


class RunningSandbox(msgspec.Struct, frozen=True):
    """A sandbox that runs: the URLs of its ports, its seed, the region of its streams, its process."""

    aws: str
    control: str
    queues: str
    topics: str
    seed: int
    region: str
    pid: int


class SandboxNotStartedError(RuntimeError):
    """The sandbox ended before it was ready; the message is what it said last."""


@contextmanager
def sandbox_process(*options: str) -> Iterator[RunningSandbox]:
    """Run ``sandbox up`` in memory, on free ports, with these further options; yield where it is.

    It sees neither the settings nor the modules of the caller's directory, and ends with the context, or with
    this process if that dies. Raises ``SandboxNotStartedError``.
    """
    with tempfile.TemporaryDirectory(prefix="rdss-sandbox-") as directory, tempfile.TemporaryFile() as said:
        # -P keeps the caller's directory off the path: packages there may have the names of ours.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "sandbox", *_UP, *options],
            cwd=directory,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
        )
        with process, watchdog(process.pid):
            try:
                yield _ready(process, said)
            finally:
                process.terminate()
                try:
                    process.wait(_STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SANDBOX_")}
    return {**kept, "PYTHONPATH": str(_OURS)}


def _ready(process: subprocess.Popen[bytes], said: IO[bytes]) -> RunningSandbox:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        said.seek(0)
        last = said.read()[-2000:].decode(errors="replace").strip()
        raise SandboxNotStartedError(last or "it ended before it was ready, and said nothing")
    return msgspec.json.decode(line, type=RunningSandbox)
