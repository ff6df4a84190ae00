"""The status, and what a start prints, say what listens and who may come in."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import msgspec

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from rdss_sandbox.installed_extensions import list_ports
from rdss_sandbox.shapes.status import Doors, Port
from rdss_sandbox.shapes.topology import Topology
from sandbox.cli.environment.doors import describe_doors
from sandbox.cli.environment.status_command import _facts
from sandbox.cli.environment.up import _summary
from sandbox.profiles.running import Running

Run = Callable[..., Any]
PORTS = ("aws", "control", "amqp", "amqp_management", *dict(list_ports()))


def test_what_listens_is_published(process: Run) -> None:
    """By up and by status: every port answers a connection; the hosts, the pages and the token are there."""
    options = ("--detach", "--json", "--amqp", "embedded", "--allow-host", "box.test")
    free = [f"--{port.replace('_', '-')}-port=0" for port in PORTS]
    up = process("up", *free, *options, "--allow-origin", "http://localhost:3000")
    assert up.code == 0, up.err
    doors = json.loads(up.out)["doors"]
    assert json.loads(process("status", "--json").out)["doors"] == doors
    assert {port["name"] for port in doors["ports"]} == set(PORTS)
    for port in doors["ports"]:
        socket.create_connection((port["address"], port["port"]), timeout=10).close()
    assert {"box.test", "127.0.0.1"} <= set(doors["hosts"])
    assert doors["origins"] == ["http://localhost:3000"]
    assert doors["token"] is False
    assert "every program of this machine (127.0.0.1, without a token)" in process("status").out


def test_a_port_of_a_strangers_is_shown_as_ours_are() -> None:
    """What up prints has it by its name and URL, and the status too."""
    url = "http://127.0.0.1:7000"
    started = Running(
        aws="http://a",
        control="http://c",
        amqp=None,
        pid=1,
        profile="embedded",
        seed=1,
        region="us-east-1",
        data_dir="d",
        ports={"theirs": url},
    )
    assert f"theirs   {url}" in _summary(started).splitlines()
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, topology=Topology())) as emulator:
        found = msgspec.structs.replace(emulator.status(), ports={"theirs": url})
    assert ("theirs", url) in _facts(found)


def test_other_machines_are_said_to_come_in() -> None:
    """Beyond loopback there always is a token."""
    doors = Doors((Port("aws", "0.0.0.0", 4566),), ("0.0.0.0",), (), token=True)
    assert describe_doors(doors) == "every machine that reaches it (0.0.0.0, with the token)"
