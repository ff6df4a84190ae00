"""What befell the containers of a stack that do not stand, as the engine's events tell it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from emulator.clock import Clock
from rdss_sandbox.timestamps import timestamp
from sandbox.profiles.docker_engine import Finding, connect

if TYPE_CHECKING:
    from docker.models.containers import Container

_LABEL: Final = "com.docker.compose"
_LOOKED_BACK_SECONDS: Final = 3600
_TOLD: Final = ("die", "oom", "kill", "pause", "stop", "disconnect")
_STANDING: Final = {"running", "healthy", "starting"}


def ailing(name: str) -> list[Finding]:
    """A finding for each service of a stack that does not stand: how it is, since what, what to do.

    Raises docker's errors.
    """
    client = connect(os.environ)
    try:
        containers = client.containers.list(all=True, filters={"label": f"{_LABEL}.project={name}"})
        return [
            _finding(name, container, how, _befell(container))
            for container in containers
            if (how := _how(container)) is not None
        ]
    finally:
        client.close()


def _how(container: Container) -> str | None:
    """How a container is, None when it is well."""
    state: dict[str, Any] = container.attrs["State"]
    if state["Status"] == "running" and not container.attrs["NetworkSettings"]["Networks"]:
        return "on no network"
    how: str = (
        state["Status"] if state["Status"] != "running" else state.get("Health", {}).get("Status", "running")
    )
    return None if how in _STANDING else how


def _befell(container: Container) -> list[dict[str, Any]]:
    """The engine's events of the last hour that say what happened to a container, oldest first."""
    assert container.client is not None
    now = Clock().time()
    events: Iterable[dict[str, Any]] = container.client.events(
        since=int(now - _LOOKED_BACK_SECONDS), until=int(now) + 1, filters={"event": list(_TOLD)}, decode=True
    )
    return [event for event in events if container.id in _concerned(event)]


def _concerned(event: dict[str, Any]) -> tuple[str, str]:
    """The container that an event is of, or that a network lost."""
    actor = event["Actor"]
    return actor["ID"], actor["Attributes"].get("container", "")


def _finding(name: str, container: Container, how: str, befell: list[dict[str, Any]]) -> Finding:
    service = container.labels[f"{_LABEL}.service"]
    said = ", ".join(_in_words(event) for event in befell[-3:])
    command = {"paused": "unpause", "exited": "start", "dead": "start"}.get(how, "restart")
    return Finding(
        "service",
        f"{service} is {how}" + (f": {said}" if said else ""),
        f"docker compose --project-name {name} {command} {service}",
    )


def _in_words(event: dict[str, Any]) -> str:
    attributes = event["Actor"]["Attributes"]
    told = {"die": f"died with exit code {attributes.get('exitCode', '?')}", "oom": "ran out of memory"}
    action = event["Action"]
    return f"{told.get(action, action)} at {timestamp(event['time'])[11:19]}"
