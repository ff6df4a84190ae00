"""Profiles as the command line offers them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from sandbox.profiles.profile_table import PROFILES, load

Process = Callable[..., Any]


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_of_the_table_can_be_loaded(name: str) -> None:
    """Each is a file of its name that stands it up."""
    assert callable(load(name))


def test_a_relay_needs_to_know_what_to_relay_to(process: Process) -> None:
    """One line, and both options that would do."""
    ran = process("up", "--profile", "relay")
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, "", 1)
    assert "--upstream-aws URL, --upstream-amqp URL" in ran.err


def test_an_upstream_that_is_not_there_is_named(process: Process) -> None:
    """And nothing is left running."""
    ports = ("--aws-port", "0", "--control-port", "0")
    ran = process("up", "--profile", "relay", "--upstream-aws", "http://127.0.0.1:9", *ports)
    assert (ran.code, ran.out) == (3, "")
    assert "http://127.0.0.1:9 cannot be used" in ran.err
    assert process("status").code == 3


def test_the_aws_profile_stays_on_this_machine(process: Process) -> None:
    """Whoever reached it would act with the caller's credentials."""
    ran = process("up", "--profile", "aws", "--host", "0.0.0.0")
    assert (ran.code, "credentials" in ran.err) == (3, True)


def test_up_in_front_of_another_sandbox_and_its_log(process: Process) -> None:
    """Started, found by status, its log shown, stopped; what it put is in the other."""
    topology = Topology({"input": 1})
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, topology=topology)) as upstream:
        options = ("--upstream-aws", upstream.aws, "--aws-port", "0", "--control-port", "0", "--amqp", "none")
        up = process("up", "--profile", "relay", *options, "--detach", "--json")
        assert up.code == 0, up.err
        keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "region_name": "us-east-1"}
        kinesis = boto3.client("kinesis", endpoint_url=json.loads(up.out)["aws"], **keys)
        kinesis.put_record(StreamName="input", Data=b"x", PartitionKey="k")
        kinesis.close()
        (stream,) = (each for each in upstream.status().streams if each.name == "input")
        assert stream.records == 1
        assert json.loads(process("status", "--json").out)["profile"] == "relay"
        assert process("logs").code == 0
        assert process("logs", "nothing").code == 2
        assert process("down").code == 0


def test_logs_of_nothing(process: Process, tmp_path: Path) -> None:
    """It says that nothing was started here."""
    ran = process("logs")
    assert (ran.code, "no sandbox was started here" in ran.err) == (3, True)
    assert not (tmp_path / ".sandbox").exists()
