"""The wheel and the sdist: what is in them, how much they bring, and that it works outside a checkout."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rdss_sandbox.version import VERSION
from tests.packaging.environment import ROOT, Environment, Size

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.xdist_group("wheel")]
_PACKAGES = ("emulator", "extensions", "rdss_sandbox", "sandbox", "schemas", "tui")
_STACK = "sandbox/profiles/stack"
_OF_THE_STACK = (
    "LICENSE",
    "README.md",
    "compose/Dockerfile",
    "compose/compose.yaml",
    "locks/build.txt",
    "locks/emulator.txt",
    "locks/pipeline.txt",
    "locks/tui.txt",
    "pyproject.toml",
)
_EVERY_HELP = """
import click
from click.testing import CliRunner
from sandbox.cli.sandbox_command import sandbox


def visit(words, command):
    ran = CliRunner().invoke(sandbox, [*words, "--help"])
    assert ran.exit_code == 0 and ran.output.startswith("Usage:"), (words, ran.output, ran.exception)
    print(*words)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            visit([*words, name], command.get_command(context, name))


visit([], sandbox)
"""
_DOCKER = """#!/bin/sh
echo "$*" >> "$DOCKER_CALLS"
echo 2.40.0
"""


def list_sources() -> set[str]:
    """The files of our packages in this checkout."""
    return {
        str(path.relative_to(ROOT))
        for package in _PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def list_wheel(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_the_wheel_has_our_packages_and_the_files_of_the_stack(wheel: Path) -> None:
    """And the pages, for agents. And nothing else: no test, no bytecode, nothing that was made here."""
    assert wheel.name == f"rdss_sandbox-{VERSION}-py3-none-any.whl"
    pages = {f"extensions/mcp/{page.relative_to(ROOT)}" for page in (ROOT / "docs").rglob("*.md")}
    assert list_wheel(wheel) == list_sources() | {f"{_STACK}/{name}" for name in _OF_THE_STACK} | pages


def test_the_sdist_has_what_a_checkout_has(distributions: Path) -> None:
    """The sources, the tests and the pages; what is made there is left out."""
    (path,) = distributions.glob("*.tar.gz")
    with tarfile.open(path) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert list_sources() <= names
    assert {"Makefile", "action.yml", "docs/ci.md", "tests/test_ci.py", *_OF_THE_STACK} <= names
    made = {".venv", ".jdk", "runs", "dist", ".sandbox", "node_modules"}
    assert not {name for name in names if made & set(Path(name).parts) or name.endswith(".pyc")}


def test_both_would_be_taken_by_an_index(distributions: Path) -> None:
    files = sorted(distributions.iterdir())
    assert len(files) == 2
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)


def test_a_plain_installation_is_light(plain_size: Size) -> None:
    """Under 40 packages, this one counted, and under 150 MB on the disk, bytecode counted."""
    assert plain_size.packages < 40
    assert plain_size.bytes < 150e6


def test_every_command_has_its_help_there(plain: Environment, tmp_path: Path) -> None:
    """Also those whose extras are not installed."""
    shown = plain.run("python", "-c", _EVERY_HELP, cwd=tmp_path).splitlines()
    assert {"up", "pipeline run", "tui", "certify consumer", "scenario run"} <= set(shown)
    assert plain.run("sandbox", "--version", cwd=tmp_path).strip() == f"sandbox, version {VERSION}"


class _Engine(BaseHTTPRequestHandler):
    """The few answers of a Docker engine that a start asks for."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.endswith("/json") and "/images/" in path:
            body: object = {"Id": "sha256:0", "RepoTags": []}
        elif path.endswith("/containers/json"):
            body = []
        else:
            body = {"ApiVersion": "1.44", "ServerVersion": "27", "MemTotal": 8_000_000_000}
        answer = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def docker_engine() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Engine) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_compose_profile_needs_no_checkout(plain: Environment, wheel: Path, tmp_path: Path) -> None:
    """The line that it says installs the extra; then the stack is built from what the wheel has."""
    docker, calls = tmp_path / "bin" / "docker", tmp_path / "calls"
    docker.parent.mkdir()
    docker.write_text(_DOCKER)
    docker.chmod(0o755)
    up = (
        "sandbox",
        "up",
        "--profile",
        "compose",
        "--aws-port",
        "0",
        "--control-port",
        "0",
        "--amqp-port",
        "0",
    )

    refused = plain.start(*up, cwd=tmp_path)
    assert refused.returncode == 3
    _, _, advice = refused.stderr.strip().partition("it with: ")
    subprocess.run(advice, shell=True, check=True, capture_output=True, cwd=tmp_path)
    with docker_engine() as engine:
        variables = {
            "DOCKER_HOST": engine,
            "DOCKER_CALLS": str(calls),
            "PATH": f"{docker.parent}:{plain.bin}:/usr/bin:/bin",
        }
        plain.run(*up, cwd=tmp_path, **variables)
        plain.run("sandbox", "down", cwd=tmp_path, **variables)

    context = tmp_path / ".sandbox" / "stack"
    brought_up, taken_down = (
        line for line in calls.read_text().splitlines() if line.endswith(("--build", "down"))
    )
    assert f"-f {context}/compose/compose.yaml up" in brought_up
    assert f"{_STACK}/compose/compose.yaml" in taken_down
    # What the Dockerfile does with these files: the same wheel comes of them.
    built = tmp_path / "built"
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", built, context]
    subprocess.run(build, check=True, capture_output=True)
    (again,) = built.iterdir()
    assert list_wheel(again) == list_wheel(wheel)
    for line in (context / "compose" / "Dockerfile").read_text().splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            assert all((context / name).exists() for name in line.split()[1:-1]), line
