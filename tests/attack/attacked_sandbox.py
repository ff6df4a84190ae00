"""``sandbox up`` as a process of its own, and processes that attack it."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from rdss_sandbox.installed_extensions import list_ports
from rdss_sandbox.machine.watchdog import watchdog
from tests.waiting import wait_until

_START_SECONDS = 60
_ATTACK_SECONDS = 90
_NAMES = ("aws", "control", *dict(list_ports()))


class AttackedSandbox:
    """A running sandbox. ``ports`` are by their names, ``pid`` is its process.

    It listens on loopback, keeps its data in ``folder``, and ends with the context, at the latest with this
    process. ``options`` come last on its command line.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self._options = options
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        free = [argument for name in _NAMES for argument in (f"--{name}-port", "0")]
        command = [sys.executable, "-m", "sandbox", "up", "--json", *free, "--data-dir", "data"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SANDBOX_")}
        amqp = () if "--amqp" in self._options else ("--amqp", "none")
        with (self.folder / "stderr").open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *amqp, *self._options],
                cwd=self.folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._stack.callback(self._end)
        self._stack.enter_context(watchdog(self.process.pid))
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.said
        self.running: dict[str, Any] = json.loads(line)
        self.pid = self.process.pid
        self.urls: dict[str, str] = {name: self.running[name] for name in ("aws", "control")}
        self.urls |= self.running["ports"]
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def ports(self) -> dict[str, int]:
        return {name: urlsplit(url).port or 0 for name, url in self.urls.items()}

    @property
    def said(self) -> str:
        """What the process wrote to its standard error."""
        return (self.folder / "stderr").read_text(errors="replace")

    def await_amqp(self) -> None:
        """Have ``amqp`` among the ports; RabbitMQ takes some seconds to start."""

        def found() -> str | None:
            told: str | None = httpx.get(f"{self.urls['control']}/status", trust_env=False).json()["amqp"]
            return told

        self.urls["amqp"] = wait_until(found, seconds=_START_SECONDS, shown=lambda: self.said)

    def resident_megabytes(self) -> float:
        """What the process holds in memory now."""
        return self._memory("VmRSS")

    def peak_megabytes(self) -> float:
        """The most that it held since ``forget_peak``, or since its start."""
        return self._memory("VmHWM")

    def forget_peak(self) -> None:
        """Count the peak of memory from now on."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def open_files(self) -> int:
        """How many file descriptors the process holds."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))  # noqa: PTH208 -- names only

    def _memory(self, name: str) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(rf"{name}:\s+(\d+) kB", status)
        assert found, status
        return int(found[1]) / 1024

    def _end(self) -> None:
        self.process.terminate()
        try:
            self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def attack(
    function: Callable[..., Any], *arguments: Any, processes: int = 1, seconds: float = _ATTACK_SECONDS
) -> None:
    """Run ``function(*arguments)`` in so many processes at once, until all have ended.

    An attack that raises fails the test; one that lasts longer than ``seconds`` is ended, and fails it too.
    """
    spawning = multiprocessing.get_context("spawn")
    attackers = [spawning.Process(target=function, args=arguments) for _ in range(processes)]
    for attacker in attackers:
        attacker.start()
    for attacker in attackers:
        attacker.join(seconds)
        if attacker.exitcode is None:
            attacker.kill()
            attacker.join()
    ends = [attacker.exitcode for attacker in attackers]
    assert not any(ends), f"{function.__name__} did not end well: {ends}"
