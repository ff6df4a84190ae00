"""The systemd unit: systemd accepts it, it opens little, and what it starts is a sandbox."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from configparser import ConfigParser
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

UNIT: Final = Path(__file__).parents[2] / "deploy" / "rdss-sandbox.service"
_MOST_EXPOSURE: Final = 15
"""Tenths, of systemd's own measure, in which 0 is the least."""
_PROGRAM: Final = "/opt/rdss-sandbox/bin/sandbox"


@pytest.fixture
def analyze() -> Callable[..., subprocess.CompletedProcess[str]]:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed, so the unit was not looked at by systemd")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["systemd-analyze", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    return run


def test_systemd_accepts_it(analyze: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """Without a word, where the program is there."""
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text(encoding="utf-8").replace(_PROGRAM, sys.executable), encoding="utf-8")
    ran = analyze("verify", str(unit))
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")


def test_it_opens_little(analyze: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """By systemd's own measure: a service that nothing holds back has 9.6."""
    ran = analyze("security", "--offline=true", f"--threshold={_MOST_EXPOSURE}", str(UNIT))
    assert ran.returncode == 0, ran.stdout


def test_what_it_starts_answers(start: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    """With its own folder, which is all that it writes, and on loopback as long as nobody says otherwise."""
    unit = ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(UNIT.read_text(encoding="utf-8"))
    service = unit["Service"]
    program, *arguments = service["ExecStart"].split()
    assert (program, arguments) == (_PROGRAM, ["up"])
    folder = Path(service["WorkingDirectory"].replace("%S", str(tmp_path)))
    assert folder.name == service["StateDirectory"]
    folder.mkdir(mode=int(service["StateDirectoryMode"], 8))
    words = service["Environment"].replace("%S", str(tmp_path)).split()
    variables = dict(each.split("=", 1) for each in words)
    running = start(arguments, variables, folder)
    assert httpx.get(f"{running['control']}/health").status_code == 200
    assert [each.name for each in tmp_path.iterdir()] == [folder.name]
    assert (folder / ".sandbox" / "data").is_dir()
