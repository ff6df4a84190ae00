"""The plain installation: what works in it, and what a command without its extra says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rdss_sandbox.machine import installation
from tests.sandbox.cli.conftest import Ran

_UP = """
import sys


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Hidden())
from rdss_sandbox.installed_extensions import list_ports
from sandbox.cli import main

ports = [f"--{{name}}-port=0" for name in ("aws", "control", "amqp", "amqp-management", *dict(list_ports()))]
main(["up", "--json", "--data-dir", ":memory:", *ports])
"""
_CLIENT = """
import boto3, os, urllib.error, urllib.request
from botocore.exceptions import ClientError

kinesis, s3, dynamodb = boto3.client("kinesis"), boto3.client("s3"), boto3.client("dynamodb")
kinesis.put_record(StreamName="input", Data=b"one", PartitionKey="a")
s3.create_bucket(Bucket="things")
s3.put_object(Bucket="things", Key="a/b", Body=b"two")
assert s3.get_object(Bucket="things", Key="a/b")["Body"].read() == b"two"
dynamodb.create_table(
    TableName="t",
    KeySchema=[{"AttributeName": "a", "KeyType": "HASH"}],
    AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "S"}],
    BillingMode="PAY_PER_REQUEST",
)
dynamodb.put_item(TableName="t", Item={"a": {"S": "1"}})
try:
    dynamodb.execute_statement(Statement="SELECT * FROM t")
except ClientError as error:
    print(error)
for path in ("metrics", "docs", "openapi.json"):
    try:
        print(urllib.request.urlopen(f"{os.environ['SANDBOX_CONTROL']}/{path}").status)
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
"""


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("send message.json", "messages"),
        ("receive", "messages"),
        ("message validate message.json", "messages"),
        ("demo --no-pipeline", "messages"),
        ("demo", "messages,pipeline"),
        ("certify consumer -- client", "messages"),
        ("scenario run 01-happy-path", "messages"),
        ("learn list", "messages"),
        ("replay run", "messages"),
        ("application run repository", "messages"),
        ("adaptor run --mapping mapping.yaml --source http://127.0.0.1:1", "messages"),
        ("pipeline run", "pipeline"),
        ("pipeline report", "pipeline"),
        ("pipeline query", "pipeline"),
        ("pipeline optimize", "pipeline"),
        ("pipeline reconcile", "pipeline"),
        ("up --profile compose", "compose"),
        ("tui", "tui"),
        ("tui --serve", "serve"),
    ],
)
def test_a_command_without_its_extra_says_what_installs_it(
    sandbox: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
    extra: str,
) -> None:
    """In one line with exit code 3, before anything else is looked at; all that is missing is named in it."""
    (tmp_path / "mapping.yaml").touch()
    (tmp_path / "run").mkdir()
    monkeypatch.setattr(installation, "find_spec", lambda name: name == "pip" or None)

    ran = sandbox(*command.split())

    assert (ran.code, ran.out) == (3, "")
    assert ran.err.count("\n") == 1
    said, _, advice = ran.err.partition(" with: ")
    for module in {module for each in extra.split(",") for module in installation.EXTRAS[each]}:
        assert re.search(rf"\b{module}\b", said), module
    assert advice.partition(" ;")[0].strip() == installation.how_to_add(*extra.split(","))


def test_a_sandbox_needs_no_extra(tmp_path: Path) -> None:
    """Streams, S3 and the control API answer; what they lack they name, with the line that installs it."""
    hidden = {module for modules in installation.EXTRAS.values() for module in modules} - {"google.protobuf"}
    program = _UP.format(names=hidden | {"flask", "flask_cors"})
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as sandbox:
        try:
            assert sandbox.stdout is not None
            running = json.loads(sandbox.stdout.readline())
            environment = {
                **os.environ,
                "AWS_ENDPOINT_URL": running["aws"],
                "AWS_ACCESS_KEY_ID": "test",
                "AWS_SECRET_ACCESS_KEY": "test",
                "AWS_DEFAULT_REGION": "us-east-1",
                "SANDBOX_CONTROL": running["control"],
            }
            ran = subprocess.run(
                [sys.executable, "-c", _CLIENT],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
        finally:
            sandbox.terminate()

    said = ran.stdout.replace("\nWithout", " Without").splitlines()
    partiql, metrics, docs, openapi = filter(None, said)
    for line, module in ((partiql, "py_partiql_parser"), (metrics, "prometheus_client"), (docs, "jinja2")):
        assert f"{module} is not installed; get it with: " in line
    assert (metrics[:3], docs[:3], openapi) == ("501", "501", "200")
    broker, validator = running["notes"]
    assert "the sandbox's own broker" in broker
    assert validator.endswith(installation.how_to_add("messages"))
