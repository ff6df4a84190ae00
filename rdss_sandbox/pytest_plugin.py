"""A pytest plugin for users' test suites: each test that names the fixture gets its own sandbox.

It is installed with the package. Nothing is imported or started before a test
names a fixture. ``--sandbox-seed N`` repeats the random choices of an earlier run.
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
    """A sandbox with the default topology, in memory and in a separate process; it ends with the test.

    ``aws``, ``control``, ``queues`` and ``topics`` are its URLs and ``seed`` is its seed. The AWS environment
    variables point at it, so an AWS SDK that the test creates needs no further configuration.
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
    """A client of the control API of ``sandbox``: faults, the clock, streams, messages, events."""
    from rdss_sandbox.client import Client

    with Client(sandbox.control) as client:
        yield client
