"""The lines of docs/install.md that install a checkout with pipx and uv, typed as they stand.

Those with pip are what tests/test_ci.py and ``create_environment`` run.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rdss_sandbox.version import VERSION
from tests.docs.pages import blocks
from tests.packaging.environment import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.xdist_group("wheel")]
LINES = [
    words
    for block in blocks(ROOT / "docs" / "install.md")
    for line in block.text.splitlines()
    if (words := shlex.split(line, comments=True)) and words[0] in {"pipx", "uv"}
]


@pytest.fixture(scope="module")
def installers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs pipx and uv, in an environment that has nothing else."""
    folder = tmp_path_factory.mktemp("installers") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet"]
    subprocess.run([*pip, "pipx", "uv"], check=True, capture_output=True)
    return folder / "bin"


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_a_line_of_the_page_installs_the_checkout(installers: Path, words: list[str], tmp_path: Path) -> None:
    """And the command that it leaves answers."""
    environment = tmp_path / "environment"
    if words[:2] == ["uv", "pip"]:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    constraints = str(ROOT / "constraints.txt")
    homes = {"PIPX_HOME": "pipx", "UV_TOOL_DIR": "tools", "UV_CACHE_DIR": "cache"}
    given = {
        **{name: str(tmp_path / folder) for name, folder in homes.items()},
        **dict.fromkeys(("PIPX_BIN_DIR", "UV_TOOL_BIN_DIR"), str(environment / "bin")),
        **dict.fromkeys(("PIP_CONSTRAINT", "UV_CONSTRAINT"), constraints),
        "VIRTUAL_ENV": str(environment),
        "UV_PYTHON": str(environment / "bin" / "python") if words[:2] == ["uv", "pip"] else sys.executable,
        "PATH": f"{installers}{os.pathsep}{os.environ['PATH']}",
    }

    ran = subprocess.run(
        words, cwd=ROOT, env={**os.environ, **given}, capture_output=True, text=True, check=False, timeout=800
    )

    assert ran.returncode == 0, ran.stderr[-3000:]
    told = subprocess.run(
        [environment / "bin" / "sandbox", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert told.stdout.strip() == f"sandbox, version {VERSION}"
    assert len(LINES) == 3
