"""What ``sandbox doctor amqp`` says of each setting: what would answer on the AMQP port, or what lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emulator.settings.settings import Settings
from sandbox.profiles import machine_checks


def check(**settings: Any) -> machine_checks.Finding:
    return machine_checks.check_amqp(Settings(**{"amqp": None, **settings}))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is all of PATH, and where servers are looked for."""
    monkeypatch.setattr("emulator.rabbitmq.broker_process._ADMINISTRATORS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def install(machine: Path, *programs: str) -> None:
    for name in programs:
        (machine / name).touch(mode=0o755)


def test_a_server_that_is_asked_for_and_not_there_stops(machine: Path) -> None:
    """With a way to have one for each kind of system, which the command's exit code 3 stands for."""
    found = check(amqp="server")
    assert (found.found, found.stops) == (
        "no rabbitmq-server was found: nothing would answer on the AMQP port",
        True,
    )
    ways = [line.split(":")[0] for line in found.remedy.splitlines()]
    assert ways == ["Debian, Ubuntu", "macOS", "container"]

    install(machine, "rabbitmq-server")
    found = check(amqp="server")
    assert found.found.startswith("rabbitmq-server is installed, but no Erlang to run it")
    assert found.stops


def test_a_server_that_is_there_is_named(machine: Path) -> None:
    """By its path. Where our own broker answers, it is what there would be instead."""
    assert check().found == "the sandbox's own broker answers on the AMQP port"
    install(machine, "rabbitmq-server", "erl", "epmd")
    server = machine / "rabbitmq-server"
    asked = check(amqp="server")
    assert (asked.found, asked.remedy, asked.stops) == (f"{server} answers on the AMQP port", "", False)
    for amqp in (None, "embedded"):
        usual = check(amqp=amqp)
        assert usual.found == (
            f"the sandbox's own broker answers on the AMQP port; --amqp server has {server} instead"
        )
        assert not usual.stops


def test_a_broker_elsewhere_is_named_without_its_password(machine: Path) -> None:
    """A relay's upstream wins over every word of the setting; compose has a container."""
    upstream = "amqp://me:secret@broker.example/"
    for amqp in (None, "server", "none"):
        found = check(upstream_amqp=upstream, amqp=amqp)
        assert (found.found, found.stops) == (
            "the broker at broker.example:5672 answers on the AMQP port, through the sandbox",
            False,
        )
    assert check(profile="compose", amqp="server").found == (
        "the RabbitMQ of its container answers on the AMQP port"
    )


def test_nothing_answers_where_no_amqp_is_wanted(machine: Path) -> None:
    """And nothing is missing."""
    found = check(amqp="none")
    assert (found.found, found.stops) == (
        "nothing answers on the AMQP port: the setting amqp is none",
        False,
    )
