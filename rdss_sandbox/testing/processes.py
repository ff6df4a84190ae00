"""The processes of sandboxes for tests: started when a test needs one, reset for the next one."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from rdss_sandbox.client import Client, UnreachableError
from rdss_sandbox.process import RunningSandbox, sandbox_process

_MOST_IDLE: Final = 3
REGION: Final = "us-east-1"


@dataclass(frozen=True, slots=True, eq=False)
class Process:
    """A running sandbox with a client of its control API. ``close`` of the stack ends both."""

    options: tuple[str, ...]
    running: RunningSandbox
    client: Client
    stack: ExitStack


class Processes:
    """Processes that are used again. Up to three wait for it; the oldest is ended when there are more."""

    def __init__(self) -> None:
        self._idle: list[Process] = []

    def take(self, options: tuple[str, ...], seed: int) -> Process:
        """Take an idle process that has these options, or start one. Raises ``SandboxNotStartedError``."""
        for process in [each for each in self._idle if each.options == options]:
            self._idle.remove(process)
            try:
                process.client.health()
            except UnreachableError:  # a test ended it
                process.stack.close()
            else:
                return process
        return _start(options, seed)

    def give_back(self, process: Process) -> None:
        """Keep a process for the next one that has its options."""
        self._idle.append(process)
        if len(self._idle) > _MOST_IDLE:
            self._idle.pop(0).stack.close()

    def close(self) -> None:
        """End the idle processes."""
        while self._idle:
            self._idle.pop().stack.close()


def _start(options: tuple[str, ...], seed: int) -> Process:
    with ExitStack() as stack:
        running = stack.enter_context(sandbox_process("--region", REGION, "--seed", str(seed), *options))
        client = stack.enter_context(Client(running.control))
        return Process(options, running, client, stack.pop_all())
