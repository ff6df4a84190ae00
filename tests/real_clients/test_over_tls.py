"""Clients of other languages on a sandbox with TLS, by what it prints for them."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdss_sandbox.aws_environment import aws_environment
from rdss_sandbox.process import RunningSandbox, sandbox_process
from sandbox.cli.environment.env_command import list_trust_lines
from sandbox.profiles.running import Running

pytestmark = [pytest.mark.real_client, pytest.mark.xdist_group("aws_cli")]

_LIST = """
const sdk = createRequire(process.cwd() + "/")("@aws-sdk/client-kinesis");
console.log((await new sdk.KinesisClient({}).send(new sdk.ListStreamsCommand({}))).StreamNames.join());
"""
_ASK = """
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
class Ask {
  public static void main(String[] given) throws Exception {
    var answer = HttpClient.newHttpClient().send(
        HttpRequest.newBuilder(URI.create(given[0])).build(), BodyHandlers.ofString());
    System.out.println(answer.version() + " " + answer.statusCode());
  }
}
"""


@pytest.fixture(scope="module")
def served() -> Iterator[RunningSandbox]:
    with sandbox_process("--tls", "self-signed") as running:
        yield running


def ran(command: list[str | Path], served: RunningSandbox, folder: Path) -> str:
    """What a client printed that has the sandbox's variables."""
    pointed = aws_environment(served.aws, served.region, trust=served.trust)
    process = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **pointed},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


def test_the_aws_cli(served: RunningSandbox, aws_cli: Path, tmp_path: Path) -> None:
    """AWS_CA_BUNDLE is all that it needs."""
    listed = ran([aws_cli, "kinesis", "list-streams", "--query", "StreamNames[0]"], served, tmp_path)
    assert listed == '"audit"'


def test_the_sdk_for_javascript(served: RunningSandbox, javascript: Path, tmp_path: Path) -> None:
    """Over HTTP/2, which its client of Kinesis speaks; NODE_EXTRA_CA_CERTS is all that it needs."""
    program = tmp_path / "list.mjs"
    program.write_text('import { createRequire } from "node:module";' + _LIST)
    assert ran(["node", program], served, javascript).startswith("audit,")


def test_java_by_the_lines_that_are_printed(served: RunningSandbox, tmp_path: Path) -> None:
    """A trust store is made of the authority, and the JDK's client gets HTTP/2 by ALPN."""
    running = Running(
        aws=served.aws,
        control=served.control,
        amqp=served.amqp,
        seed=1,
        region=served.region,
        trust=served.trust,
        pid=1,
        profile="embedded",
        data_dir="",
    )
    make, start = (shlex.split(line.removeprefix("Java:")) for line in list_trust_lines(running)[-2:])
    ran([*make], served, tmp_path)
    (tmp_path / "Ask.java").write_text(_ASK)
    assert ran([*start[:-1], "Ask.java", f"{served.control}/health"], served, tmp_path) == "HTTP_2 200"
