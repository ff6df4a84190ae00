"""Ports of the compose stack that somebody took between their choice and Docker's start of the container."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.settings.settings import read_settings
from rdss_sandbox.installed_extensions import list_ports
from sandbox.profiles import compose_profile

USUAL = {name: port.usual for name, port in list_ports()}
VARIABLES = {
    f"SANDBOX_{name.upper()}_PORT": str(port)
    for name, port in {"aws": 4566, "control": 4570, "amqp": 40001, **USUAL}.items()
}
LISTEN = "Error starting userland proxy: listen tcp4 127.0.0.1:{0}: bind: address already in use"
ALLOCATED = "Bind for 127.0.0.1:{0} failed: port is already allocated"
DESKTOP = "Ports are not available: exposing port TCP 127.0.0.1:{0} -> 127.0.0.1:0: listen tcp 127.0.0.1:{0}"
WORDINGS = (LISTEN, ALLOCATED, DESKTOP)


def lost(directory: Path, said: str) -> bool:
    """Whether this in Docker's log is a reason to choose other ports; the first two were asked for."""
    log = directory / compose_profile.LOG_NAME
    log.write_text(f" Container emulator-1 Starting\n{said}\n")
    return compose_profile._lost_a_chosen_port(read_settings({"amqp_port": 0}, {}, directory), VARIABLES, log)


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("port", [40001, *USUAL.values()])
def test_a_chosen_port_that_was_taken_is_known_by_every_wording(
    tmp_path: Path, wording: str, port: int
) -> None:
    """The engine's, its port allocator's and Docker Desktop's."""
    assert lost(tmp_path, f"Error response from daemon: {wording.format(port)}")


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("port", [4566, 4570, 900, 90071])
def test_a_port_that_was_asked_for_is_never_given_up(tmp_path: Path, wording: str, port: int) -> None:
    """Nor does the refusal of a port that is not the stack's make it look for others."""
    assert not lost(tmp_path, f"Error response from daemon: {wording.format(port)}")


def test_another_failure_is_no_reason_for_other_ports(tmp_path: Path) -> None:
    """Even where it names one of them."""
    assert not lost(tmp_path, "dependency failed to start: emulator at 127.0.0.1:9007 is unhealthy")
