"""The compose profile: LocalStack and RabbitMQ with the emulator in front, as containers."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from emulator.clock import Clock
from emulator.machine import private_files
from emulator.rng import new_uuid
from emulator.settings.declarations import declared
from emulator.settings.document_files import read_document
from emulator.settings.settings import STATE_DIRECTORY, TOPOLOGIES, Settings
from rdss_sandbox.installed_extensions import list_ports
from rdss_sandbox.machine.docker_connection import connect
from sandbox.profiles import docker_engine, running
from sandbox.profiles.in_process import CannotStartError, CannotStopError
from sandbox.profiles.machine_checks import check_ports
from sandbox.profiles.running import Running
from sandbox.profiles.stack_files import (
    READ_IN_THE_CONTAINER,
    copy_contract,
    find_compose_file,
    provide_compose_file,
)

if TYPE_CHECKING:
    from docker.models.containers import Container

NAME: Final = "rdss-sandbox"
LOG_NAME: Final = "compose.log"
_LOOK_SECONDS: Final = 0.5
_SAID_LINES: Final = 12
_LABEL: Final = "com.docker.compose"
_PORTS: Final = ("aws", "control", "amqp")
_TRIES: Final = 4
_PORT_TAKEN: Final = re.compile("already in use|already allocated|not available")


@dataclass(frozen=True, slots=True)
class Service:
    """A service of the stack. ``state`` and ``health`` are Docker's; ``health`` needs a health check."""

    name: str
    state: str
    health: str | None

    @property
    def standing(self) -> str:
        return self.health or self.state


def run(settings: Settings, ready: Callable[[Running], None]) -> None:
    """Start the stack and wait until it is ready; it runs until ``sandbox down``.

    Raises CannotStartError.
    """
    ports = {"aws": settings.aws_port, "control": settings.control_port, "amqp": settings.amqp_port}
    for finding in chain(docker_engine.findings(os.environ), check_ports(ports)):
        if finding.stops:
            raise CannotStartError(f"{finding.found}; {finding.remedy}")
    name = os.environ.get("SANDBOX_COMPOSE_NAME") or NAME
    state = Path(STATE_DIRECTORY).resolve()
    private_files.make_directory(state)
    variables = _bring_up(settings, name, state, provide_compose_file(state))
    found = _describe(settings, name, variables)
    running.write(found)
    ready(found)


def stop(found: Running) -> None:
    """Stop and remove the stack; its volumes, and so its data, stay. Raises CannotStopError."""
    file = find_compose_file()
    ran = subprocess.run(
        # "*": services of every compose profile belong to the stack, since they use its network.
        ["docker", "compose", "--project-name", str(found.stack), "-f", file, "--profile", "*", "down"],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        lines = ran.stderr.strip().splitlines()
        raise CannotStopError(f"docker compose down failed: {lines[-1] if lines else 'without a word'}")


def services(name: str) -> list[Service]:
    """List the services of a stack by name. Raises docker's errors."""
    with _containers(name) as containers:
        return sorted((_service(container) for container in containers), key=lambda each: each.name)


def logs(name: str, service: str | None, tail: int, *, follow: bool) -> Iterator[bytes]:
    """Yield the last lines of the services' logs; ``follow`` continues with one service's log.

    Raises docker's errors.
    """
    with _containers(name) as containers:
        for container in containers:
            if service in (None, _service(container).name):
                yield from (
                    container.logs(tail=tail, stream=True, follow=True)
                    if follow and service
                    else (container.logs(tail=tail),)
                )


def _bring_up(settings: Settings, name: str, state: Path, file: Path, tries: int = _TRIES) -> dict[str, str]:
    """Start the stack and return the variables that it was started with. Raises CannotStartError."""
    log = state / LOG_NAME
    variables = _variables(settings, name, state)
    if _up(name, file, variables, log):
        return variables
    if tries > 1 and _lost_a_chosen_port(settings, variables, log):
        return _bring_up(settings, name, state, file, tries - 1)
    raise CannotStartError(_why(name, log))


def _up(name: str, file: Path, variables: Mapping[str, str], log: Path) -> bool:
    """Run docker compose up and return whether the stack became ready."""
    images = ["--no-build"] if os.environ.get("SANDBOX_IMAGE") else ["--build"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["docker", "compose", "--progress", "plain", "-f", file, "up", "--detach", "--wait", *images],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **variables},
        )
        try:
            _wait(process, name)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    return process.returncode == 0


def _lost_a_chosen_port(settings: Settings, variables: Mapping[str, str], log: Path) -> bool:
    """Whether another process took a port that we chose: the engine binds it up to a minute later."""
    asked = {key: getattr(settings, f"{key}_port") for key in _PORTS}
    asked |= {name: settings.find(f"{name}_port") for name, _ in list_ports()}
    chosen = [variables[f"SANDBOX_{key.upper()}_PORT"] for key, port in asked.items() if not port]
    refusals = [line for line in log.read_text(errors="replace").splitlines() if _PORT_TAKEN.search(line)]
    return any(re.search(rf":{port}\b", line) for port in chosen for line in refusals)


def _variables(settings: Settings, name: str, state: Path) -> dict[str, str]:
    """The environment variables for ``compose.yaml``; writes the files that they name."""
    variables = {
        "SANDBOX_COMPOSE_NAME": name,
        "SANDBOX_AWS_PORT": str(docker_engine.free_port(settings.aws_port)),
        "SANDBOX_CONTROL_PORT": str(docker_engine.free_port(settings.control_port)),
        "SANDBOX_AMQP_PORT": str(docker_engine.free_port(settings.amqp_port)),
        "SANDBOX_REGION": settings.region,
        "SANDBOX_SEED": str(settings.seed),
        "SANDBOX_TOKEN": settings.token or new_uuid(),
        "SANDBOX_ALLOWED_HOSTS": ",".join(settings.allowed_hosts),
        "SANDBOX_ALLOWED_ORIGINS": ",".join(settings.allowed_origins),
        "SANDBOX_FAULTS": msgspec.json.encode(settings.faults).decode(),
        "SANDBOX_ACCESS": msgspec.json.encode(settings.access).decode(),
    }
    if settings.topology not in TOPOLOGIES.values():
        place = state / "topology.json"
        place.write_bytes(msgspec.json.encode(settings.topology))
        place.chmod(READ_IN_THE_CONTAINER)
        variables |= {
            "SANDBOX_TOPOLOGY_FILE": str(place),
            "SANDBOX_TOPOLOGY": "/etc/sandbox/topology.json",
        }
    else:
        variables["SANDBOX_TOPOLOGY"] = next(n for n, each in TOPOLOGIES.items() if each == settings.topology)
    if settings.contract:
        folder = state / "contract"
        place_in = copy_contract(settings.contract, folder)
        variables |= {
            "SANDBOX_CONTRACT_FOLDER": str(folder),
            "SANDBOX_CONTRACT": f"/etc/sandbox/contract/{place_in.as_posix()}",
        }
    for key, port in list_ports():
        number = docker_engine.port_or_fallback(settings.find(f"{key}_port"), port.usual)
        variables[f"SANDBOX_{key.upper()}_PORT"] = str(number)
    for document, path in _list_documents(settings):
        place = state / f"{document}.json"
        place.write_bytes(msgspec.json.encode(read_document(path)))
        place.chmod(READ_IN_THE_CONTAINER)
        variables |= {
            f"SANDBOX_{document.upper()}_FILE": str(place),
            f"SANDBOX_{document.upper()}": f"/etc/sandbox/{document}.json",
        }
    if given := os.environ.get("SANDBOX_DOCKER_SOCKET"):
        variables["SANDBOX_DOCKER_GROUP"] = str(Path(given).stat().st_gid)
    return variables


def _list_documents(settings: Settings) -> Iterator[tuple[str, Path]]:
    """The settings of extensions that name a file which the container has to see."""
    for shape in settings.extensions:
        for name, each in declared(type(shape)).items():
            path = getattr(shape, name)
            if isinstance(path, Path) and not each.setting.applies:
                yield name, path


def _wait(process: subprocess.Popen[bytes], name: str) -> None:
    """Wait for docker compose and show the state of each service meanwhile."""
    from docker.errors import DockerException

    from sandbox.visible_output import make_console

    clock = Clock()
    began = clock.elapsed()
    with make_console(stderr=True).status("building and starting") as shown:
        while process.poll() is None:
            clock.wait(_LOOK_SECONDS)
            try:
                stand = ", ".join(f"{each.name} {each.standing}" for each in services(name))
            except (DockerException, OSError):
                continue
            shown.update(f"{clock.elapsed() - began:.0f} s: {stand or 'building and starting'}")


def _why(name: str, log: Path) -> str:
    """The reason why the stack did not become ready, in a few lines."""
    from docker.errors import DockerException

    lines = log.read_text(errors="replace").strip().splitlines()
    line = lines[-1] if lines else "docker compose failed without a word"
    try:
        bad = [each for each in services(name) if each.standing not in {"running", "healthy"}]
        ailing = next((each.name for each in bad if each.state != "created"), None)
        last = b"".join(logs(name, ailing, _SAID_LINES, follow=False)) if ailing else b""
    except (DockerException, OSError):
        return f"{line}; see {log}"
    ends = f"\n{ailing} said last:\n{last.decode(errors='replace').rstrip()}" if last else ""
    return f"{line}; see {log}, and sandbox doctor{ends}"


def _describe(settings: Settings, name: str, variables: dict[str, str]) -> Running:
    ports = {key: variables[f"SANDBOX_{key}_PORT"] for key in map(str.upper, _PORTS)}
    return Running(
        aws=f"http://127.0.0.1:{ports['AWS']}",
        control=f"http://127.0.0.1:{ports['CONTROL']}",
        amqp=f"amqp://guest:{quote(variables['SANDBOX_TOKEN'], safe='')}@127.0.0.1:{ports['AMQP']}/%2F",
        pid=None,
        profile="compose",
        seed=settings.seed,
        region=settings.region,
        data_dir=f"the volumes {name}_localstack, {name}_rabbitmq and {name}_emulator",
        token=variables["SANDBOX_TOKEN"],
        contract=str(settings.contract.resolve()) if settings.contract else None,
        stack=name,
        ports={
            each: f"http://127.0.0.1:{variables[f'SANDBOX_{each.upper()}_PORT']}" for each, _ in list_ports()
        },
    )


@contextmanager
def _containers(name: str) -> Iterator[list[Container]]:
    client = connect(os.environ)
    try:
        yield client.containers.list(all=True, filters={"label": f"{_LABEL}.project={name}"})
    finally:
        client.close()


def _service(container: Container) -> Service:
    attributes: dict[str, Any] = container.attrs
    health = attributes["State"].get("Health", {}).get("Status")
    return Service(container.labels[f"{_LABEL}.service"], attributes["State"]["Status"], health)
