"""Fixtures for other people's test suites: a sandbox of its own for each test that asks for one.

Installed with the package; nothing is imported or started until a test names
a fixture. ``--sandbox-seed N`` repeats a run's chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from emulator.assembly.embedded import Embedded
    from rdss_sandbox.client import Client

_SEED = pytest.StashKey[int]()
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
    from emulator.rng import new_seed  # noqa: PLC0415 -- nothing of ours loads into suites that do not ask

    given = config.getoption("--sandbox-seed")
    config.stash[_SEED] = new_seed() if given is None else given


def pytest_report_header(config: pytest.Config) -> str:
    return f"sandbox: --sandbox-seed {config.stash[_SEED]}"


@pytest.fixture
def sandbox(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[Embedded]:
    """An embedded sandbox with the default topology, in memory, gone after the test.

    ``aws`` and ``control`` are its URLs; the AWS variables of the environment
    point at it, so that any SDK made in the test talks to it unchanged.
    """
    from emulator.assembly.embedded import embedded  # noqa: PLC0415 -- as above
    from emulator.settings.settings import DEFAULT_TOPOLOGY, Settings  # noqa: PLC0415

    settings = Settings(
        aws_port=0,
        control_port=0,
        data_dir=None,
        seed=pytestconfig.stash[_SEED],
        topology=DEFAULT_TOPOLOGY,
    )
    with embedded(settings) as running:
        for name, value in _CREDENTIALS.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_DEFAULT_REGION", settings.region)
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.aws)
        yield running


@pytest.fixture
def sandbox_control(sandbox: Embedded) -> Iterator[Client]:
    """The control API of ``sandbox``: faults, the clock, streams, messages, events."""
    from rdss_sandbox.client import Client  # noqa: PLC0415 -- as above

    with Client(sandbox.control) as client:
        yield client
