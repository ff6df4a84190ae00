"""The wheel and the sdist, built once, and an environment that has the wheel and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Environment:
    """The wheel as ``pip install`` has it, without extras."""
    return create_environment(tmp_path_factory.mktemp("plain") / "environment", wheel)


@pytest.fixture(scope="session")
def plain_size(plain: Environment) -> Size:
    """How much that is, measured before a test installs more beside it."""
    return plain.measure()
