"""A stranger's project: the wheel in an empty environment, packages of our names, a suite of 200 tests."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SANDBOX_"))}
    environment = {
        **kept,
        "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    ran = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=800
    )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return ran


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_strangers_suite_runs_from_the_wheel(tmp_path: Path) -> None:
    """Outside of any checkout. Ten seconds on two idle cores, here counted in time of processors."""
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        tmp_path,
        ROOT,
        cwd=tmp_path,
    )
    wheel = next(tmp_path.glob("*.whl"))
    run(sys.executable, "-m", "venv", "environment", cwd=tmp_path)
    programs = tmp_path / "environment" / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", wheel, "pytest", "pytest-xdist", cwd=tmp_path)
    project = tmp_path / "project"
    for name in ("sandbox", "schemas", "emulator", "tui"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text("MINE = True\n")
    (project / "test_mine.py").write_text(_SUITE)
    (project / "pyproject.toml").write_text("[tool.pytest.ini_options]\npythonpath = ['.']\n")

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = run(programs / "pytest", "-n", "2", "-q", cwd=project)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)

    assert "200 passed" in ran.stdout
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < 20  # of two cores
    assert "AWS_ENDPOINT_URL" in run(programs / "sandbox", "run", "--", "env", cwd=project).stdout
