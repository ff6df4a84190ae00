"""An environment with this project and the packages in ``examples/``, each as pip installs it."""

from __future__ import annotations

import sysconfig

import pytest

from tests.packaging.environment import ROOT, Environment, create_environment

PACKAGES = tuple(sorted(project.parent for project in ROOT.glob("examples/*/pyproject.toml")))


@pytest.fixture(scope="session")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """It has the packages that the tests run with, so that nothing is fetched."""
    made = create_environment(tmp_path_factory.mktemp("extended") / "environment", "pip")
    (packages,) = made.folder.glob("lib/python3*/site-packages")
    (packages / "those_of_the_tests.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    how = ("--quiet", "--no-deps", "--no-build-isolation")
    made.run("python", "-m", "pip", "install", *how, ROOT, *PACKAGES, cwd=ROOT)
    return made
