"""Checks of what this machine has for a sandbox: Python, ports, disk, data, RabbitMQ, Java, packages."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from sandbox.profiles.docker_engine import Finding

if TYPE_CHECKING:
    from emulator.settings.settings import Settings

OLDEST_PYTHON: Final = (3, 11)
_PORT: Final = 5672
_SPARE_BYTES: Final = 1_000_000_000
_LEAST_BYTES: Final = 100_000_000


def check_python() -> Finding:
    """Check the running interpreter."""
    have = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= OLDEST_PYTHON:
        return Finding("python", f"Python {have}: {sys.executable}")
    return Finding("python", f"Python {have} is too old", "install Python 3.11 or newer", stops=True)


def check_ports(ports: Mapping[str, int], *, stops: bool = True) -> Iterator[Finding]:
    """Check that the ports, by name, can be listened on, and find who has one that cannot."""
    import socket

    from emulator.machine.port_holders import find_holder

    for name, port in ports.items():
        if not port:
            yield Finding("port", f"any free port for {name}")
            continue
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError as error:
            holder = find_holder(port)
            why = f"is held by {holder}" if holder else f"cannot be had: {error.strerror}"
            remedy = f"--{name}-port 0 picks a free one"
            yield Finding("port", f"port {port} for {name} {why}", remedy, stops)
        else:
            yield Finding("port", f"{port} for {name} is free")


def check_disk(place: Path | None) -> Finding:
    """Check the free space where data is kept, or would be."""
    if place is None:
        return Finding("disk", "nothing is kept on disk")
    existing = next(each for each in (place.resolve(), *place.resolve().parents) if each.exists())
    free = shutil.disk_usage(existing).free
    found = f"{free / 1e9:.1f} GB free for {place}"
    if free >= _SPARE_BYTES:
        return Finding("disk", found)
    remedy = "free some, or choose another place with --data-dir, or --data-dir :memory:"
    return Finding("disk", found, remedy, stops=free < _LEAST_BYTES)


def check_data(place: Path | None) -> Iterator[Finding]:
    """Check whether a sandbox of this directory was killed, and whether another process has its data."""
    from emulator.assembly.data_directory import DirectoryInUseError, hold_lock
    from sandbox.profiles import running

    written = running.read()
    alive = written is not None and written.alive
    if written is not None and not alive:
        yield Finding(
            "stale",
            f"the sandbox that was started here ({written.who}) ended without sandbox down",
            "its data is kept: sandbox up goes on from it, and sandbox down forgets that it ran",
        )
    if place is None or not (place / "lock").exists() or alive:
        return
    try:
        with hold_lock(place):
            yield Finding("data", f"{place} is there, and nobody uses it")
    except DirectoryInUseError as error:
        yield Finding("data", str(error), "sandbox down in its directory stops it", stops=True)


def check_amqp(settings: Settings) -> Finding:
    """Say what answers on the AMQP port of a sandbox with these settings."""
    from emulator.rabbitmq.broker_process import HOW_TO_GET_ONE, explain_missing_server, find_server

    if settings.profile == "compose":
        return Finding("rabbitmq", "the RabbitMQ of its container answers on the AMQP port")
    if settings.upstream_amqp is None and settings.amqp == "none":
        return Finding("rabbitmq", "nothing answers on the AMQP port: the setting amqp is none")
    if settings.upstream_amqp is not None:
        upstream = urlsplit(settings.upstream_amqp)
        broker = f"the broker at {upstream.hostname}:{upstream.port or _PORT}"
        return Finding("rabbitmq", f"{broker} answers on the AMQP port, through the sandbox")
    server = find_server(os.environ)
    if settings.amqp == "server":
        if server is not None:
            return Finding("rabbitmq", f"{server} answers on the AMQP port")
        reason, remedy = explain_missing_server(os.environ), "\n".join(HOW_TO_GET_ONE)
        return Finding("rabbitmq", f"{reason}: nothing would answer on the AMQP port", remedy, stops=True)
    instead = f"; --amqp server has {server} instead" if server is not None else ""
    return Finding("rabbitmq", f"the sandbox's own broker answers on the AMQP port{instead}")


def check_java() -> Finding:
    """Check for the Java that the pipeline's Spark needs."""
    from sandbox.pipeline.spark import java

    found = java.find()
    if found is not None:
        return Finding("java", f"Java {found.version}: {found.home}")
    debian, macos = "sudo apt-get install default-jre-headless", f"brew install openjdk@{java.OLDEST}"
    remedy = f"Debian, Ubuntu: {debian}\nmacOS: {macos}"
    return Finding("java", f"no Java {java.OLDEST} or newer in JAVA_HOME or on PATH", remedy, stops=True)


def check_package(about: str, module: str, extra: str) -> Finding:
    from rdss_sandbox.machine.installation import how_to_add

    if find_spec(module) is not None:
        return Finding(about, f"{module} is installed")
    return Finding(about, f"{module} is not installed", how_to_add(extra), stops=True)


def own_ports(settings: Settings) -> dict[str, int]:
    """The ports that a sandbox cannot do without."""
    return {"aws": settings.aws_port, "control": settings.control_port}
