"""Findings about the unhealthy containers of a stack, from the Docker engine's events."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from emulator.clock import Clock
from rdss_sandbox.machine.docker_connection import connect
from rdss_sandbox.text.timestamps import timestamp
from sandbox.profiles.docker_engine import Finding

if TYPE_CHECKING:
    from docker.models.containers import Container

_LABEL: Final = "com.docker.compose"
_HISTORY_SECONDS: Final = 3600
_EVENTS: Final = ("die", "oom", "kill", "pause", "stop", "disconnect")
_WELL: Final = {"running", "healthy", "starting"}


def ailing(name: str) -> list[Finding]:
    """A finding for each unhealthy service of a stack: its state, its last events, the remedy.

    Raises docker's errors.
    """
    client = connect(os.environ)
    try:
        containers = client.containers.list(all=True, filters={"label": f"{_LABEL}.project={name}"})
        return [
            _finding(name, container, how, _recent_events(container))
            for container in containers
            if (how := _trouble(container)) is not None
        ]
    finally:
        client.close()


def _trouble(container: Container) -> str | None:
    """The state of an unhealthy container; None for a healthy one."""
    state: dict[str, Any] = container.attrs["State"]
    if state["Status"] == "running" and not container.attrs["NetworkSettings"]["Networks"]:
        return "on no network"
    how: str = (
        state["Status"] if state["Status"] != "running" else state.get("Health", {}).get("Status", "running")
    )
    return None if how in _WELL else how


def _recent_events(container: Container) -> list[dict[str, Any]]:
    """The engine's events about a container in the last hour, oldest first."""
    assert container.client is not None
    now = Clock().time()
    events: Iterable[dict[str, Any]] = container.client.events(
        since=int(now - _HISTORY_SECONDS), until=int(now) + 1, filters={"event": list(_EVENTS)}, decode=True
    )
    return [event for event in events if container.id in _container_ids(event)]


def _container_ids(event: dict[str, Any]) -> tuple[str, str]:
    """The ids in an event: of its container, or of the container that a network lost."""
    actor = event["Actor"]
    return actor["ID"], actor["Attributes"].get("container", "")


def _finding(name: str, container: Container, how: str, events: list[dict[str, Any]]) -> Finding:
    service = container.labels[f"{_LABEL}.service"]
    sentence = ", ".join(_in_words(event) for event in events[-3:])
    command = {"paused": "unpause", "exited": "start", "dead": "start"}.get(how, "restart")
    return Finding(
        "service",
        f"{service} is {how}" + (f": {sentence}" if sentence else ""),
        f"docker compose --project-name {name} {command} {service}",
    )


def _in_words(event: dict[str, Any]) -> str:
    attributes = event["Actor"]["Attributes"]
    words = {"die": f"died with exit code {attributes.get('exitCode', '?')}", "oom": "ran out of memory"}
    action = event["Action"]
    return f"{words.get(action, action)} at {timestamp(event['time'])[11:19]}"
