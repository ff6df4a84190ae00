"""A whole emulator with its control API, on free ports, in memory."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from tests.chromium import running_chromium


@pytest.fixture
def emulator() -> Iterator[Embedded]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, seed=7)) as emulator:
        yield emulator


@pytest.fixture
def api(emulator: Embedded) -> Iterator[Client]:
    with Client(emulator.control) as client:
        yield client


@pytest.fixture
def http(emulator: Embedded) -> Iterator[httpx.Client]:
    """The control API without our client in between."""
    with httpx.Client(base_url=emulator.control, trust_env=False, timeout=30, verify=False) as client:
        yield client


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Chromium, for ``open_tab``."""
    with running_chromium(tmp_path_factory.mktemp("profile"), "--window-size=1920,1080") as address:
        yield address
