"""Sandboxes as tests of strangers have them, in processes that the tests of a worker share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rdss_sandbox.testing import Sandbox
from rdss_sandbox.testing.configuration import read_configuration
from rdss_sandbox.testing.processes import Processes


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    processes = Processes()
    yield processes
    processes.close()


@pytest.fixture
def make(processes: Processes, tmp_path: Path) -> Callable[..., Sandbox]:
    """Makes a sandbox with a configuration, for a test that enters it."""

    def make(**given: Any) -> Sandbox:
        configuration = read_configuration("the test", {"seed": 7, **given}, directory=tmp_path)
        return Sandbox.configured(configuration, processes)

    return make


@pytest.fixture
def begin(make: Callable[..., Sandbox]) -> Iterator[Callable[..., Sandbox]]:
    """Begins a sandbox with a configuration; it ends with the test."""
    with ExitStack() as stack:
        yield lambda **given: stack.enter_context(make(**given))


@pytest.fixture
def seeded(begin: Callable[..., Sandbox]) -> Sandbox:
    return begin()
