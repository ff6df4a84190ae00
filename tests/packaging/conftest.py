"""The wheel and the sdist, built once, and an environment that has the wheel and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.packaging.environment import ROOT, Environment, Size, create_environment


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist, built as ``make dist`` does."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="session")
def wheel(distributions: Path) -> Path:
    return next(distributions.glob("*.whl"))


class Plain(NamedTuple):
    """A plain installation, and its size before a test installs more beside it."""

    environment: Environment
    size: Size


@pytest.fixture(scope="session")
def measured_plain(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Plain:
    """The wheel as ``pip install`` has it, without extras."""
    environment = create_environment(tmp_path_factory.mktemp("plain") / "environment", wheel)
    return Plain(environment, environment.measure())


@pytest.fixture(scope="session")
def plain(measured_plain: Plain) -> Environment:
    return measured_plain.environment


@pytest.fixture(scope="session")
def plain_size(measured_plain: Plain) -> Size:
    return measured_plain.size
