"""The Docker engine that the ``docker`` command uses: the connection, and our image on it."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from docker import DockerClient

IMAGE: Final = "rdss-sandbox:local"
"""The image of the emulator that ``sandbox image`` and the compose profile build."""

_DEFAULT_HOST: Final = "unix:///var/run/docker.sock"
_COMMAND_SECONDS: Final = 20
_ENGINE_SECONDS: Final = 60


def connect(environment: Mapping[str, str]) -> DockerClient:
    """Connect to the engine that the ``docker`` command uses. Raises OSError and docker's errors."""
    import docker

    host = environment.get("DOCKER_HOST") or _host_of_context() or _DEFAULT_HOST
    if host.startswith("unix://"):
        # docker's client leaks the socket of a failed connection, so try the socket first.
        with socket.socket(socket.AF_UNIX) as trying:
            trying.connect(host.removeprefix("unix://"))
    # With the certificates that DOCKER_TLS_VERIFY and DOCKER_CERT_PATH ask for.
    return docker.DockerClient.from_env(
        environment={**environment, "DOCKER_HOST": host}, timeout=_ENGINE_SECONDS
    )


def _host_of_context() -> str | None:
    """The engine's address in the docker command's context, which Docker Desktop sets."""
    try:
        ran = subprocess.run(
            ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMMAND_SECONDS,
            env={**os.environ},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout.strip() or None
