"""moto's own suites, as its source distribution has them, against a sandbox and against moto's own server."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from rdss_sandbox.process import sandbox_process
from tests.bench.subjects import Start, Subject, running
from tests.real_clients import install
from tests.real_clients.moto_differences import DIFFERENCES, STACKS
from tests.real_clients.sandbox_process import installed

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

_MOTO: Final = version("moto")
_ACCOUNT: Final = "123456789012"
"""moto's own account, which the suites expect, and an access key of that account."""


@pytest.fixture(scope="module")
def environment() -> Path:
    needed = (f"moto[server]=={_MOTO}", *install.MOTO_SUITES)
    return installed("moto's suites", lambda: install.python_environment("moto-suites", *needed))


@pytest.fixture(scope="module")
def source(environment: Path) -> Path:
    return installed(
        "the source of moto",
        lambda: install.source_distribution("moto-source", f"moto=={_MOTO}", into=environment),
    )


def _run(environment: Path, source: Path, suite: str, url: str, report: Path) -> dict[str, str]:
    """Run a suite against ``url``, which it empties before each test, and return its outcomes."""
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "moto_account", f"--junitxml={report}"]
    chosen = [f"tests/test_{suite}", "-m", "not requires_docker and not network"]
    subprocess.run(
        [environment / "python", "-m", "pytest", *arguments, *chosen],
        cwd=source,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            "TEST_SERVER_MODE": "true",
            "TEST_SERVER_MODE_ENDPOINT": url,
            "PYTHONPATH": str(Path(__file__).parent),
            "AWS_ACCESS_KEY_ID": _ACCOUNT,
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        },
        stdout=sys.stderr,
        stderr=sys.stderr,
        timeout=800,
        check=False,
    )
    return _outcomes(report)


def _outcomes(report: Path) -> dict[str, str]:
    """Each test by module and name, with ``passed`` or how it ended instead."""
    found: dict[str, str] = {}
    for case in ET.parse(report).iter("testcase"):
        module = next(part for part in case.get("classname", "").split(".")[::-1] if part.islower())
        ended = next((each.tag for each in case if each.tag in ("failure", "error", "skipped")), "passed")
        name = f"{module}::{case.get('name')}"
        found[name] = f"{found[name]}, {ended}" if name in found else ended
    return found


@pytest.mark.parametrize("suite", DIFFERENCES)
def test_the_suite_ends_as_against_motos_server(
    suite: str, environment: Path, source: Path, tmp_path: Path
) -> None:
    """Test by test, but for those that are listed with a reason."""
    server = Subject(
        "moto", lambda port: Start([str(environment / "moto_server"), "-H", "127.0.0.1", "-p", str(port)])
    )
    with sandbox_process("--topology", "none") as sandbox, running(server) as moto:
        assert moto is not None
        urls = (sandbox.aws, f"http://127.0.0.1:{moto.port}")
        # One after the other: tests of S3 start servers at fixed ports, and wait for ever for a taken one.
        ours, motos = (_run(environment, source, suite, url, tmp_path / "report.xml") for url in urls)
    assert ours.keys() == motos.keys()
    assert len(ours) > 80
    other = {name for name, ended in ours.items() if ended != motos[name]}
    listed = DIFFERENCES[suite]
    assert other | {name for name, why in listed.items() if why == STACKS} == listed.keys()
