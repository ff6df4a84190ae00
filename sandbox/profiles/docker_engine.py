"""A check of everything that a stack needs of the Docker engine of this machine."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from emulator.rng import Chance
from rdss_sandbox.machine.docker_connection import connect
from rdss_sandbox.machine.installation import find_missing, how_to_add, list_absent

FREE_IMAGE: Final = "localstack/localstack:4.14.0"
RABBITMQ_IMAGE: Final = "rabbitmq:4-management"
_NEEDED_BYTES: Final = 3_000_000_000
_UNASSIGNED: Final = range(20_000, 30_000)
_CANDIDATES: Final = 100


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; ``remedy`` says what to do and is empty where all is well.

    ``stops`` means that the stack cannot run before the remedy.
    """

    about: str
    found: str
    remedy: str = ""
    stops: bool = False


def findings(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Check everything that the stack needs but its ports; the checks end at a missing command."""
    if missing := find_missing("compose"):
        yield Finding("package", list_absent(missing), f"get it with: {how_to_add('compose')}", True)
        return
    command = _command()
    yield command
    if command.stops:
        return
    yield from _engine(environment)
    yield _token(environment)


def _command() -> Finding:
    if shutil.which("docker") is None:
        return Finding(
            "docker",
            "there is no docker command",
            "install Docker Engine or Docker Desktop, or use sandbox up, which needs neither",
            stops=True,
        )
    ran = subprocess.run(
        ["docker", "compose", "version", "--short"], capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        remedy = "install the Compose plug-in, version 2: docker-compose-plugin, or Docker Desktop"
        return Finding("compose", "the docker command has no compose", remedy, stops=True)
    return Finding("compose", f"Docker Compose {ran.stdout.strip()}")


def _engine(environment: Mapping[str, str]) -> Iterator[Finding]:
    from docker.errors import DockerException, ImageNotFound

    try:
        client = connect(environment)
        try:
            info = client.info()
            yield Finding("engine", f"Docker Engine {info.get('ServerVersion', '?')} answers")
            yield _memory(int(info.get("MemTotal", 0)))
            for image in (
                environment.get("LOCALSTACK_IMAGE") or FREE_IMAGE,
                environment.get("RABBITMQ_IMAGE") or RABBITMQ_IMAGE,
            ):
                try:
                    client.images.get(image)
                    yield Finding("image", f"{image} is here")
                except ImageNotFound:
                    yield Finding(
                        "image", f"{image} is not here", f"it will be pulled; or: docker pull {image}"
                    )
        finally:
            client.close()
    except (DockerException, OSError) as error:
        why = str(error).splitlines()[0][:200]
        remedy = "start it: Docker Desktop, or sudo systemctl start docker; DOCKER_HOST says where it is"
        yield Finding("engine", f"the Docker engine does not answer: {why}", remedy, stops=True)


def _memory(total: int) -> Finding:
    found = f"the engine has {total / 1e9:.1f} GB of memory"
    if total >= _NEEDED_BYTES:
        return Finding("memory", found)
    remedy = f"the stack wants {_NEEDED_BYTES / 1e9:.0f} GB: give the engine more, or use sandbox up"
    return Finding("memory", found, remedy)


def _token(environment: Mapping[str, str]) -> Finding:
    image = environment.get("LOCALSTACK_IMAGE") or FREE_IMAGE
    if environment.get("LOCALSTACK_AUTH_TOKEN"):
        return Finding("token", "LOCALSTACK_AUTH_TOKEN is given")
    if _needs_token(image):
        remedy = f"set LOCALSTACK_AUTH_TOKEN, or leave LOCALSTACK_IMAGE at {FREE_IMAGE}"
        return Finding("token", f"{image} exits without a token", remedy, stops=True)
    return Finding("token", f"{image} needs none")


def _needs_token(image: str) -> bool:
    """Whether an image is LocalStack's own and newer than 4.14; a tag without a version is the newest."""
    name, _, tag = image.rpartition(":")
    if not name or "/" in tag:
        name, tag = image, "latest"
    if not name.endswith(("localstack/localstack", "localstack/localstack-pro")):
        return False
    numbers = tag.split("-")[0].split(".")
    if not all(number.isdecimal() for number in numbers):
        return True
    return [int(number) for number in numbers[:2]] > [4, 14] or name.endswith("-pro")


def free_port(port: int) -> int:
    """The port itself, or for 0 a port that is free now.

    It is below those that systems choose from for connections and for port 0. One of those may be taken, here
    or by an outgoing connection in the container, before what is started listens on it a minute later.
    """
    if port:
        return port
    candidates = Chance().draws("port").sample(_UNASSIGNED, _CANDIDATES)
    return next(filter(_is_free, candidates), candidates[0])


def _is_free(port: int) -> bool:
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def port_or_fallback(asked: int | None, default: int) -> int:
    """The port that was asked for (0 for any free one), else the default, else any free one."""
    if asked is not None:
        return free_port(asked)
    return default if _is_free(default) else free_port(0)
