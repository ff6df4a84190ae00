"""Each extra alone, in a bare environment, is enough for what docs/install.md says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rdss_sandbox.machine.installation import EXTRAS
from tests.packaging.environment import ROOT, create_environment

_ANSWERS = "import os, urllib.request as u; print(u.urlopen(os.environ['SANDBOX_CONTROL'] + '/{}').status)"
_PUBLISH = """
import os, pika
channel = pika.BlockingConnection(pika.URLParameters(os.environ["SANDBOX_AMQP_URL"])).channel()
channel.basic_publish("", channel.queue_declare("", exclusive=True).method.queue, b"one")
"""
_PARTIQL = """
import boto3
dynamodb = boto3.client("dynamodb")
dynamodb.create_table(TableName="t", KeySchema=[{"AttributeName": "a", "KeyType": "HASH"}],
    AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "S"}], BillingMode="PAY_PER_REQUEST")
assert dynamodb.execute_statement(Statement="SELECT * FROM t")["Items"] == []
"""
_TRANSFORMED = """
import boto3
template = "{Transform: AWS::Serverless-2016-10-31, Resources: {A: {Type: AWS::Serverless::LayerVersion}}}"
stacks = boto3.client("cloudformation")
stacks.create_change_set(StackName="s", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=template)
why = stacks.describe_change_set(StackName="s", ChangeSetName="c")["StatusReason"]
assert "Missing required property" in why, why
"""
_TUI = """
import asyncio, os
from rdss_sandbox.client import AsyncClient
from tui.app import SandboxApp
from tui.keys.preferences import Preferences

async def show():
    async with SandboxApp(AsyncClient(os.environ["SANDBOX_CONTROL"]), Preferences()).run_test() as pilot:
        await pilot.pause()

asyncio.run(show())
"""
_SERVED = """
import os, signal, subprocess, urllib.request
served = subprocess.Popen(["sandbox", "tui", "--serve", "--port", "18765"],
    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
address = next(word for line in served.stdout for word in line.split() if word.startswith("http"))
assert urllib.request.urlopen(address).status == 200
served.send_signal(signal.SIGINT)
served.wait(30)
"""
_AGENT = """
import asyncio, os
from mcp import Client, StdioServerParameters, stdio_client

async def ask():
    server = StdioServerParameters(command="sandbox", args=["mcp"], env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        for name in ("status", "certify_list", "docs_list"):
            found = await client.call_tool(name, {})
            assert not found.is_error and len(found.content[0].text) > 200, found

asyncio.run(ask())
"""
_WORKS = {
    "messages": (
        "sandbox message sample --count 1 --seed 7 > message.json",
        "sandbox message validate message.json",
        "sandbox run -- sh -c 'sandbox send message.json && sandbox receive'",
        "sandbox scenario run producer-retry",
        "sandbox demo --no-pipeline",
        "sandbox learn list",
        "sandbox run -- sandbox application run repository --once",
        "! sandbox certify consumer --stage delays:1 --no-shrink --seed 7 -- true",
        "! sandbox certify consumer --channel rabbitmq --stage delays:1 --no-shrink --seed 7 -- true",
        "sandbox run -- sandbox diagnose",
        f"sandbox run --amqp -- python -c '{_PUBLISH}'",
    ),
    "avro": (
        "sandbox contract export > rdss.yaml",
        "sandbox contract check rdss.yaml",
        "python -c 'import fastavro'",
    ),
    "topics": ("sandbox run -- sandbox topic sow objects --filter '/objectVersion > 1'",),
    "metrics": (f'sandbox run -- python -c "{_ANSWERS.format("metrics")}"',),
    "pages": (f'sandbox run -- python -c "{_ANSWERS.format("docs")}"',),
    "sam": (f"sandbox run -- python -c '{_TRANSFORMED}'",),
    "partiql": (f"sandbox run -- python -c '{_PARTIQL}'",),
    "fast": ("python -c 'import uvloop'", "sandbox run -- true"),
    "compose": ("sandbox doctor compose | tee doctor; ! grep -q 'not installed' doctor",),
    "tui": (f"sandbox run -- python -c '{_TUI}'",),
    "serve": (f"sandbox run -- python -c '{_SERVED}'",),
    "mcp": (f"sandbox run -- python -c '{_AGENT}'",),
    "pipeline": (
        "sandbox run -- sandbox pipeline run --to tables",
        "sandbox pipeline report --at tables",
    ),
}


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("extra", _WORKS)
def test_an_extra_alone_is_enough(wheel: Path, tmp_path: Path, extra: str) -> None:
    """What the page says of it runs to its end, and nothing asks for another installation."""
    environment = create_environment(tmp_path / "environment", f"rdss-sandbox[{extra}] @ {wheel.as_uri()}")
    for number, command in enumerate(_WORKS[extra]):
        script = tmp_path / f"{number}.sh"
        script.write_text(f"set -e\n{command}\n")
        ran = environment.start("/bin/sh", script, cwd=tmp_path)
        assert ran.returncode == 0, (command, ran.stdout[-2000:] + ran.stderr[-2000:])
        assert not re.search("get (it|them) with", ran.stderr), command


def test_every_extra_is_tried() -> None:
    """And those of the action and of the pipeline for GitLab are among them, with what scenarios need."""
    assert _WORKS.keys() == EXTRAS.keys()
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    (defaults,) = re.findall(r"extras:\n.*\n    default: (.*)", action)
    assert "messages" in defaults.split(",")
    assert "rdss-sandbox[messages]" in (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
