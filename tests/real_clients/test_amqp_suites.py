"""The suites that clients of AMQP have of their own, unmodified, against the sandbox's own broker.

pika's and aiormq's are in no registry: their source distributions have no tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest

from rdss_sandbox.process import sandbox_process
from tests.real_clients import install
from tests.real_clients.sandbox_process import installed

# What is not installed yet takes minutes on a machine under load.
pytestmark = [pytest.mark.real_client, pytest.mark.timeout(600), pytest.mark.xdist_group("suites")]
_PORT = Path(__file__).with_name("amqplib_port.mjs")


class Suite(NamedTuple):
    """How a suite is run, how many tests it has, and which fail, with the reason."""

    command: Callable[[], list[str | Path]]
    folder: Callable[[], Path]
    tests: int
    fail: Mapping[str, str] = {}


def _python(*arguments: str) -> Callable[[], list[str | Path]]:
    return lambda: [_environment() / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]


def _environment() -> Path:
    return installed("AMQP clients", lambda: install.python_environment("amqp-suites", *install.AMQP_SUITES))


def _sources(requirement: str) -> Callable[[], Path]:
    name = requirement.partition("==")[0]
    return lambda: installed(
        f"the source of {name}",
        lambda: install.source_distribution(f"{name}-source", requirement, into=_environment()),
    )


def _amqplib() -> Path:
    return installed(
        "amqplib's suite", lambda: install.node_packages("amqplib-suite", *install.AMQPLIB_SUITE)
    )


SUITES = {
    "py-amqp": Suite(_python("t/integration", "-k", "not tls"), _sources(install.PY_AMQP), 48),
    "kombu": Suite(_python("t/integration/test_py_amqp.py"), _sources(install.KOMBU), 51),
    "rabbitpy": Suite(
        # Its configuration has an option of a plugin that these tests do not need.
        _python("-W", "ignore::pytest.PytestConfigWarning", "tests/integration", "tests/test_integration.py"),
        _sources(install.RABBITPY),
        40,
    ),
    "amqplib": Suite(
        # Each test has a second of its own; a machine under load takes longer.
        lambda: [
            "node",
            "--import",
            _PORT,
            "--test",
            "--test-timeout=30000",
            "--test-reporter=junit",
            "test/",
        ],
        lambda: _amqplib() / "amqplib",
        319,
        {"ipv6": "the sandbox listens on 127.0.0.1 alone"},
    ),
}


class Ran(NamedTuple):
    """A suite that runs, and the file that its JUnit report goes to."""

    process: subprocess.Popen[bytes]
    report: Path


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Ran | str]]:
    """Every suite at once, since they wait more than they work; in place of one, why it cannot be had."""
    folder = tmp_path_factory.mktemp("suites")
    found: dict[str, Ran | str] = {}
    with sandbox_process() as sandbox:
        port = str(urlsplit(sandbox.amqp).port)
        environment = {
            **os.environ,
            "RABBITMQ_HOST": "127.0.0.1",
            "RABBITMQ_5672_TCP": port,
            "RABBITMQ_URL": sandbox.amqp,
            "AMQP_PORT": port,
            "URL": sandbox.amqp,
            # node --test has a process for each file.
            "NODE_OPTIONS": f"--import={_PORT}",
        }
        for name, suite in SUITES.items():
            try:
                command, place = suite.command(), suite.folder()
            except pytest.skip.Exception as why:
                found[name] = str(why)
                continue
            report = folder / f"{name}.xml"
            with report.open("wb") as out:
                python = "pytest" in command
                written = [f"--junitxml={report}"] if python else []
                process = subprocess.Popen(
                    [*command, *written],
                    cwd=place,
                    env=environment,
                    stdout=sys.stderr if python else out,
                    stderr=sys.stderr,
                )
            found[name] = Ran(process, report)
        yield found
        for ran in found.values():
            if isinstance(ran, Ran):
                ran.process.kill()
                ran.process.wait()


@pytest.mark.parametrize("name", SUITES)
def test_the_suite_passes(name: str, running: dict[str, Ran | str]) -> None:
    """As many tests as it has pass, and those that fail are those that are known to, by name."""
    ran = running[name]
    if isinstance(ran, str):
        pytest.skip(ran)
    ran.process.wait(300)
    cases = list(ET.parse(ran.report).iter("testcase"))
    failed = {
        f"{case.get('name')}: {problem.get('message')}"
        for case in cases
        for problem in (*case.iter("failure"), *case.iter("error"), *case.iter("skipped"))
    }
    assert {each.partition(":")[0] for each in failed} == SUITES[name].fail.keys(), failed
    assert len(cases) == SUITES[name].tests
