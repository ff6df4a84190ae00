"""The stack of compose/compose.yaml, brought up once for all tests of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from emulator.rng import new_uuid
from rdss_sandbox.machine.docker_connection import connect
from tests.profile_sandboxes import SEED

FILE = Path(__file__).parents[2] / "compose" / "compose.yaml"


@dataclass
class Stack:
    """A stack: what ``sandbox up --json`` said, and how to run further commands beside it."""

    name: str
    directory: Path
    environment: dict[str, str]
    said: dict[str, Any] = field(default_factory=dict)

    def up(self, *more: str) -> None:
        """Bring it up, at addresses that nobody else has."""
        ports = ("--aws-port", "0", "--control-port", "0", "--amqp-port", "0")
        ran = self.command("up", "--profile", "compose", *ports, "--seed", str(SEED), "--json", *more)
        assert ran.returncode == 0, ran.stderr
        self.said = json.loads(ran.stdout)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The sandbox's own."""
        return subprocess.run(
            [sys.executable, "-m", "sandbox", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.directory,
            env=self.environment,
            timeout=900,
        )

    def compose(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Docker Compose, with the variables of this stack."""
        variables = {
            "SANDBOX_COMPOSE_NAME": self.name,
            "SANDBOX_CONTROL_PORT": self.said["control"].rpartition(":")[2],
            "SANDBOX_TOKEN": self.said["token"],
        }
        return subprocess.run(
            ["docker", "compose", "-f", str(FILE), *words],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **variables},
            timeout=600,
        )


@contextmanager
def bring_up(folder: Path, *more: str) -> Iterator[Stack]:
    """A whole stack, on free ports and under a name of its own, taken down with its volumes."""
    from docker.errors import DockerException

    try:
        client = connect(os.environ)
        client.ping()
        client.close()
    except (DockerException, OSError) as error:
        pytest.skip(
            f"NO DOCKER ENGINE ({error}): the stack was not brought up, nothing was tested against it"
        )
    name = f"rdss-sandbox-test-{new_uuid()[:8]}"
    environment = {**os.environ, "SANDBOX_COMPOSE_NAME": name}
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if host.startswith("unix://"):
        environment["SANDBOX_DOCKER_SOCKET"] = host.removeprefix("unix://")
    made = Stack(name, folder, environment)
    try:
        made.up(*more)
        yield made
    finally:
        down = ["docker", "compose", "-p", name, "-f", str(FILE), "--profile", "*", "down", "--volumes"]
        # With its own PATH: the last test of a run may be one from which Docker is hidden.
        subprocess.run(down, capture_output=True, check=False, timeout=300, env=environment)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack of all tests that need no other one."""
    with bring_up(tmp_path_factory.mktemp("compose")) as made:
        yield made
