"""Fixtures for other people's test suites: a sandbox of its own for each test that asks for one.

Installed with the package; nothing is imported or started until a test names
a fixture. ``--sandbox-seed N`` repeats a run's chance.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rdss_sandbox.client import Client
    from rdss_sandbox.process import RunningSandbox

_SEED = pytest.StashKey[int]()
_SEED_BYTES = 4
_REGION = "us-east-1"
_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_SESSION_TOKEN": "test",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rdss-sandbox")
    group.addoption("--sandbox-seed", type=int, metavar="N", help="the seed of the sandbox fixture's chance")


def pytest_configure(config: pytest.Config) -> None:
    given = config.getoption("--sandbox-seed")
    config.stash[_SEED] = int.from_bytes(os.urandom(_SEED_BYTES)) if given is None else given


def pytest_report_header(config: pytest.Config) -> str:
    return f"sandbox: --sandbox-seed {config.stash[_SEED]}"


@pytest.fixture
def sandbox(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningSandbox]:
    """A sandbox with the default topology, in memory, in a process of its own, gone after the test.

    ``aws``, ``control``, ``queues`` and ``topics`` are its URLs, ``seed`` its seed; the AWS variables of the
    environment point at it, so that any SDK made in the test talks to it unchanged.
    """
    from rdss_sandbox.process import sandbox_process

    seed = pytestconfig.stash[_SEED]
    with sandbox_process("--seed", str(seed), "--region", _REGION) as running:
        for name, value in _CREDENTIALS.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_DEFAULT_REGION", _REGION)
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.aws)
        yield running


@pytest.fixture
def sandbox_control(sandbox: RunningSandbox) -> Iterator[Client]:
    """The control API of ``sandbox``: faults, the clock, streams, messages, events."""
    from rdss_sandbox.client import Client

    with Client(sandbox.control) as client:
        yield client
