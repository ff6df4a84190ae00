"""What keeps the stack from starting, named before it is tried."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from sandbox.profiles import docker_engine
from sandbox.profiles.docker_engine import Finding, _needs_token, findings, free_port, port_or_fallback
from sandbox.profiles.machine_checks import check_ports


def stopping(environment: dict[str, str]) -> list[Finding]:
    return [finding for finding in findings(environment) if finding.stops]


@pytest.fixture
def docker_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A docker command that has compose, and no engine behind it."""
    command = tmp_path / "docker"
    command.write_text("#!/bin/sh\necho 2.40.0\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


def test_no_docker_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What to install, and what needs none of it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    (finding,) = stopping({})
    assert (finding.about, "sandbox up" in finding.remedy) == ("docker", True)


def test_an_engine_that_does_not_run(docker_command: None, tmp_path: Path) -> None:
    """How to start it."""
    (finding,) = stopping({"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert finding.about == "engine"
    assert "start it" in finding.remedy


def test_a_port_that_is_taken() -> None:
    """Which one, who has it, and the option that picks another."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (found,) = [finding for finding in check_ports({"aws": port, "amqp": 0}) if finding.stops]
    assert found.found.startswith(f"port {port} for aws is held by process {os.getpid()}")
    assert "--aws-port 0" in found.remedy
    assert free_port(port) == port


def test_a_free_port_is_none_that_the_system_gives_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither Linux (from 32,768) nor macOS and Windows (from 49,152) choose it for a connection."""
    assert all(1024 < free_port(0) < 32_768 for _ in range(20))
    taken: list[int] = []
    monkeypatch.setattr(docker_engine, "_is_free", lambda port: bool(taken) or taken.append(port))
    assert free_port(0) not in taken


@pytest.mark.parametrize(
    ("image", "needs"),
    [
        ("localstack/localstack:4.14.0", False),
        ("localstack/localstack:3.8", False),
        ("localstack/localstack:4.15.0", True),
        ("localstack/localstack:latest", True),
        ("localstack/localstack", True),
        ("localstack/localstack-pro:4.0", True),
        ("registry.example:5000/localstack/localstack:4.14", False),
        ("somebody/else:latest", False),
    ],
)
def test_which_images_need_a_token(image: str, needs: bool) -> None:
    """Those of LocalStack that came after its repository was archived."""
    assert _needs_token(image) is needs


def test_a_token_that_is_needed(docker_command: None, tmp_path: Path) -> None:
    """And where it is given, nothing is said."""
    environment = {
        "DOCKER_HOST": f"unix://{tmp_path}/none.sock",
        "LOCALSTACK_IMAGE": "localstack/localstack:latest",
    }
    assert [found.about for found in stopping(environment)] == ["engine", "token"]
    environment["LOCALSTACK_AUTH_TOKEN"] = "given"
    assert [found.about for found in stopping(environment)] == ["engine"]


def test_a_usual_port_gives_way_unless_it_was_asked_for() -> None:
    """Two stacks can stand beside each other; whoever names a port has that one."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        taken = listening.getsockname()[1]
        assert port_or_fallback(taken, 1) == taken
        assert port_or_fallback(None, taken) not in {taken, 0}
        assert port_or_fallback(0, taken) not in {taken, 0}
    assert port_or_fallback(None, taken) == taken
