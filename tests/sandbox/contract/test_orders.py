"""A sandbox of a contract that is no RDSS: its document makes the channels, and judges what passes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pika
import pytest

from rdss_sandbox.shapes.contract import Judged
from rdss_sandbox.shapes.status import Status
from rdss_sandbox.testing import Sandbox

DOCUMENT: Final = Path(__file__).with_name("orders.yaml")
_PLACED: Final = {"id": "7c1e5a34-6a3e-4c8e-9d44-2f8b5a7f5a10", "kind": "placed", "total": 2.5}
_CANCELLED: Final = {"id": "7c1e5a34-6a3e-4c8e-9d44-2f8b5a7f5a11", "kind": "cancelled"}
_PRICELESS: Final = {"id": "7c1e5a34-6a3e-4c8e-9d44-2f8b5a7f5a12", "kind": "placed"}
_LINES: Final = (
    "".join(json.dumps(each) + "\n" for each in (_PLACED, _CANCELLED, _PRICELESS)) + "no message\n"
)


@pytest.fixture(scope="module")
def orders() -> Iterator[Sandbox]:
    """A sandbox of the document, as a test has one."""
    with Sandbox(contract=str(DOCUMENT)) as sandbox:
        yield sandbox


def _run(
    folder: Path, *arguments: str, stdin: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SANDBOX_")}
    return subprocess.run(
        [sys.executable, "-m", "sandbox", *arguments],
        cwd=folder,
        env=kept | variables,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _rows(ran: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_the_channels_are_those_of_the_document(orders: Sandbox) -> None:
    """Streams with their shards and their largest record; the queue of what is refused; the audit log."""
    status: Status = orders.client.status()
    assert status.contract == "orders 1.2.0"
    assert {each.name: each.open_shards for each in status.streams} == {
        "orders.placed": 2,
        "orders.rejected": 1,
        "audit": 1,
    }


def test_a_message_over_amqp_comes_to_the_declared_queue(orders: Sandbox) -> None:
    """The exchange, the queue and the binding between them are there for the first client."""
    with pika.BlockingConnection(pika.URLParameters(orders.amqp)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.basic_publish("events", "order.placed", b"{}", mandatory=True)
        assert channel.basic_get("billing", auto_ack=True)[2] == b"{}"


def test_the_control_api_judges_by_the_document(orders: Sandbox) -> None:
    """What is wrong has a JSON Pointer, and what is valid is."""
    assert orders.client.judge(Judged(json.dumps(_PLACED).encode())).code is None
    refused = orders.client.judge(Judged(json.dumps(_PRICELESS).encode()))
    assert [(each.path, each.rule) for each in refused.violations] == [("/total", "required")]
    assert {each.queue for each in orders.client.contract().codes} == {"orders.rejected"}


def test_commands_work_by_the_contract_of_the_directory(tmp_path: Path) -> None:
    """What is sent is received by type and id, and what is wrong goes to the document's own channel."""
    (tmp_path / "sandbox.toml").write_text(f'[sandbox]\ncontract = "{DOCUMENT}"\n', encoding="utf-8")
    ports = ("--aws-port", "0", "--control-port", "0", "--amqp", "none", "--data-dir", ":memory:")
    up = _run(tmp_path, "up", "--detach", "--json", *ports)
    assert up.returncode == 0, up.stderr
    try:
        judged = _rows(_run(tmp_path, "message", "validate", "-", "--json", stdin=_LINES))
        assert [each["code"] for each in judged] == [None, None, "invalid", "malformed"]
        sent = _rows(_run(tmp_path, "send", "-", "--json", stdin=_LINES))
        assert [(each["id"], each["kind"]) for each in sent[:2]] == [
            (_PLACED["id"], "placed"),
            (_CANCELLED["id"], "cancelled"),
        ]
        received = _rows(_run(tmp_path, "receive", "--json"))
        assert sorted(each["kind"] for each in received if "rejected" not in each) == ["cancelled", "placed"]
        listed = _rows(_run(tmp_path, "messages", "--filter", "type:placed", "--json"))
        assert _PLACED["total"] in [each["labels"]["payload_total"] for each in listed]
        queued = _rows(_run(tmp_path, "messages", "--filter", "stream:orders.rejected", "--json"))
        assert sorted(each["code"] for each in queued) == ["invalid", "malformed"]
    finally:
        _run(tmp_path, "down")


@pytest.mark.parametrize("given", ["option", "variable", "file"])
def test_a_document_that_is_none_is_refused_by_its_place(given: str, tmp_path: Path) -> None:
    """One line, which says who named the document and where in it something is wrong; exit code 2."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("asyncapi: 2.6.0\n", encoding="utf-8")
    if given == "file":
        (tmp_path / "sandbox.toml").write_text('[sandbox]\ncontract = "bad.yaml"\n', encoding="utf-8")
    options = ("--contract", "bad.yaml") if given == "option" else ()
    variables = {"SANDBOX_CONTRACT": str(bad)} if given == "variable" else {}
    ran = _run(tmp_path, "up", *options, **variables)
    said = {
        "option": "--contract",
        "variable": "SANDBOX_CONTRACT in the environment",
        "file": "sandbox.toml:2",
    }
    assert ran.returncode == 2
    named = bad if given == "variable" else bad.name
    assert ran.stderr.startswith(f"sandbox: {said[given]}: {named}: #/asyncapi: version 2.6.0 is not read")
    assert ran.stderr.count("\n") == 1


def test_a_topology_that_routes_by_what_messages_have_not_is_refused(tmp_path: Path) -> None:
    """The router is RDSS's; exit code 3, and what to do."""
    words = ("up", "--topology", "rdss", "--aws-port", "0", "--control-port", "0", "--amqp", "none")
    ran = _run(tmp_path, *words, "--data-dir", ":memory:", SANDBOX_CONTRACT=str(DOCUMENT))
    assert ran.returncode == 3
    assert "routes messages by their tenant, and those of orders 1.2.0 have none" in ran.stderr


@pytest.mark.parametrize("command", [("demo",), ("learn", "list"), ("application", "run", "repository")])
def test_what_is_of_rdss_alone_is_refused(command: tuple[str, ...], tmp_path: Path) -> None:
    """Nothing is sent that the contract cannot judge; exit code 2."""
    ran = _run(tmp_path, *command, SANDBOX_CONTRACT=str(DOCUMENT))
    assert (ran.returncode, ran.stdout) == (2, "")
    said = f"sandbox {command[0]} is of the RDSS Message API, and the contract here is {DOCUMENT}"
    assert ran.stderr == f"sandbox: {said}\n"


def test_a_command_names_the_document_that_it_cannot_read(tmp_path: Path) -> None:
    """A command without settings of its own says the same, without a traceback."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("asyncapi: 2.6.0\n", encoding="utf-8")
    ran = _run(tmp_path, "message", "sample", SANDBOX_CONTRACT=str(bad))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "version 2.6.0 is not read" in ran.stderr


def test_scenarios_are_those_that_the_contract_allows(tmp_path: Path) -> None:
    """What needs sequences, expiry or RDSS's codes is left out; the rest plays, and passes."""
    contract = {"SANDBOX_CONTRACT": str(DOCUMENT)}
    (listed,) = _rows(_run(tmp_path, "scenario", "list", "--json", **contract))
    names = {each["name"] for each in listed}
    assert {"happy-path", "split-under-load", "answer-lost"} <= names
    assert not names & {"sequence-across-a-reshard", "expired-message", "poison-message"}
    ran = _run(tmp_path, "scenario", "run", "happy-path", "split-under-load", "--seed", "3", **contract)
    assert ran.returncode == 0, ran.stdout
    assert [line.split()[0] for line in ran.stdout.splitlines() if line][:2] == ["pass", "pass"]


def test_a_scenario_of_another_contract_says_what_is_missing(tmp_path: Path) -> None:
    """The place in the file, and the codes that there are."""
    scenario = tmp_path / "bad.yaml"
    teach = "teach: {happens: It comes., why: It can., client: It waits.}"
    scenario.write_text(
        f"name: bad\ntitle: Bad\n{teach}\nworkload: {{bad: {{GENERR001: 1}}}}\nexpect: {{lost: 0}}\n"
    )
    ran = _run(tmp_path, "scenario", "run", "bad.yaml", SANDBOX_CONTRACT=str(DOCUMENT))
    assert ran.returncode == 2
    assert "workload/bad: no message can be made for GENERR001; there are " in ran.stderr


def test_a_command_is_run_with_a_sandbox_of_the_document(tmp_path: Path) -> None:
    """What COMMAND starts is bound to the contract as well: its samples are orders."""
    command = (sys.executable, "-m", "sandbox", "message", "sample", "--type", "placed", "--seed", "3")
    ran = _run(tmp_path, "run", "--contract", str(DOCUMENT), "--", *command)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["kind"] == "placed"


@pytest.mark.sandbox(contract="tests/sandbox/contract/orders.yaml")
def test_a_marked_test_gets_a_sandbox_of_the_document(sandbox: Sandbox) -> None:
    """The file is found from where pytest runs."""
    assert sandbox.client.contract().name == "orders"
