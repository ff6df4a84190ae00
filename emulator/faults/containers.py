"""Containers of the Compose stack under a sandbox, as targets of ``pause``, ``kill`` and ``isolate``."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emulator.faults.fault import Target

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container as DockerContainer

SOCKET: Final = Path("/var/run/docker.sock")
_LABEL: Final = "com.docker.compose"


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a Compose project. Each action looks it up again by ``project`` and ``service``."""

    project: str
    service: str

    @property
    def name(self) -> str:
        return f"container {self.service}"

    def pause(self) -> None:
        self._do(lambda container: container.pause())

    def resume(self) -> None:
        """Unpause it, or start it when it has ended."""

        def resume(container: DockerContainer) -> None:
            if container.attrs["State"]["Paused"]:
                container.unpause()
            else:
                container.start()

        self._do(resume)

    def kill(self) -> None:
        self._do(lambda container: container.kill())

    def disconnect(self) -> None:
        """Disconnect it from every network."""

        def disconnect(container: DockerContainer) -> None:
            for name in container.attrs["NetworkSettings"]["Networks"]:
                _client(container).networks.get(name).disconnect(container)

        self._do(disconnect)

    def reconnect(self) -> None:
        """Connect it to the project's networks again, with the service name as its alias."""

        def connect(container: DockerContainer) -> None:
            of_project = {"label": f"{_LABEL}.project={self.project}"}
            for network in _client(container).networks.list(filters=of_project):
                # Compose gives it this alias, by which the others find it.
                network.connect(container, aliases=[self.service])

        self._do(connect)

    def _do(self, act: Callable[[DockerContainer], object]) -> None:
        """Find the container and act on it.

        Raises ProcessLookupError when there is none, or the Docker engine refuses.
        """
        # Loaded by a strike alone: no fault has a container in most sandboxes.
        import docker
        from docker.errors import DockerException

        labels = [f"{_LABEL}.project={self.project}", f"{_LABEL}.service={self.service}"]
        try:
            client = docker.DockerClient(base_url=f"unix://{SOCKET}")
            try:
                # One that was killed has to be found too, to be started.
                found = client.containers.list(all=True, filters={"label": labels})
                if not found:
                    raise ProcessLookupError(f"no container of {self.service} in {self.project}")
                act(found[0])
            finally:
                client.close()
        except DockerException as error:
            raise ProcessLookupError(f"{self.name}: {error}") from error


def find_containers(
    project: str | None, services: tuple[str, ...] = ("localstack", "rabbitmq")
) -> dict[str, Target]:
    """The containers that faults can name. There are none without a Docker socket that we may write."""
    if project is None or not _is_socket(SOCKET):
        return {}
    return {service: Container(project, service) for service in services}


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode) and os.access(path, os.W_OK)
    except OSError:
        return False


def _client(container: DockerContainer) -> DockerClient:
    assert container.client is not None
    return container.client
