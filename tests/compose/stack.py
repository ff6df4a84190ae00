"""The stack of compose/compose.yaml, brought up once for all tests of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from emulator.rng import new_uuid
from sandbox.profiles.docker_engine import connect
from tests.houses import SEED

FILE = Path(__file__).parents[2] / "compose" / "compose.yaml"


@dataclass
class Stack:
    """A stack that is up: what ``sandbox up --json`` said, and how to run further commands beside it."""

    said: dict[str, Any]
    command: Callable[..., subprocess.CompletedProcess[str]]
    name: str

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


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The whole stack, on free ports and under a name of its own, taken down with its volumes."""
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
    directory = tmp_path_factory.mktemp("compose")
    environment = {**os.environ, "SANDBOX_COMPOSE_NAME": name}
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if host.startswith("unix://"):
        environment["SANDBOX_DOCKER_SOCKET"] = host.removeprefix("unix://")

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "sandbox", *words]
        return subprocess.run(
            line, capture_output=True, text=True, check=False, cwd=directory, env=environment, timeout=900
        )

    ports = ("--aws-port", "0", "--control-port", "0", "--amqp-port", "0")
    up = command("up", "--profile", "compose", *ports, "--seed", str(SEED), "--json")
    try:
        assert up.returncode == 0, up.stderr
        yield Stack(json.loads(up.stdout), command, name)
    finally:
        down = ["docker", "compose", "-p", name, "-f", str(FILE), "--profile", "*", "down", "--volumes"]
        subprocess.run(down, capture_output=True, check=False, timeout=300)
