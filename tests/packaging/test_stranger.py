"""A stranger's project: the wheel in an empty environment, packages of our names, a suite of 200 tests."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from tests.packaging.environment import Environment

_SUITE = """
import pytest
import sandbox as own, schemas, emulator


@pytest.mark.parametrize("number", range(200))
def test_it(sandbox, number):
    assert own.MINE and schemas.MINE and emulator.MINE
    sandbox.faults.add("duplicate")
    sandbox.send({"messageHeader": {"messageId": f"m-{number}"}})
    assert [record.message_id for record in sandbox.stream("input").records()] == [f"m-{number}"] * 2
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("wheel")
@pytest.mark.usefixtures("plain_size")
def test_a_strangers_suite_runs_from_the_wheel(plain: Environment, tmp_path: Path) -> None:
    """Outside of any checkout. Ten seconds on two idle cores, here counted in time of processors."""
    plain.run("python", "-m", "pip", "install", "--quiet", "pytest", "pytest-xdist", cwd=tmp_path)
    project = tmp_path / "project"
    for name in ("sandbox", "schemas", "emulator", "tui"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text("MINE = True\n")
    (project / "test_mine.py").write_text(_SUITE)
    (project / "pyproject.toml").write_text("[tool.pytest.ini_options]\npythonpath = ['.']\n")

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = plain.run("pytest", "-n", "2", "-q", cwd=project)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)

    assert "200 passed" in said
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < 20  # of two cores
    assert "AWS_ENDPOINT_URL" in plain.run("sandbox", "run", "--", "env", cwd=project)
