"""``sandbox demo`` as a command: what it leaves, and what it says when it cannot run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.pipeline.spark import java
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples

Command = Callable[..., Any]


@pytest.mark.slow
def test_files_go_through_a_sandbox_of_its_own(sandbox: Command, tmp_path: Path) -> None:
    """Exit code 0, the summary on standard output and in the folder, the table on standard error."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/good.json").write_bytes(serialise(Samples(1).message()))
    (tmp_path / "mine/bad.json").write_bytes(Samples(2).bad(ErrorCode.GENERR001))
    ran = sandbox("demo", "--from", "mine", "--json", "--no-pipeline", "--seed", "5")
    assert ran.code == 0
    summary = json.loads(ran.out)
    assert (summary["verdict"], summary["sent"], summary["processed_once"]) == ("pass", 2, 1)
    assert summary["rejects"] == summary["rejects_expected"] == {"GENERR001": 1}
    written = Path("runs/demo/latest/summary.json").resolve()
    assert json.loads(written.read_text()) == summary
    assert "every line holds" in ran.err
    assert not (written.parent / ".sandbox/running.json").exists()


def test_a_directory_that_is_not_there_is_refused(sandbox: Command) -> None:
    """One line, exit code 2, and no sandbox was started for it."""
    ran = sandbox("demo", "--from", "nowhere")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "nowhere" in ran.err
    assert not Path("runs").exists()


def test_without_java_it_says_what_to_do(sandbox: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started: one line, exit code 3."""

    def missing() -> None:
        raise java.JavaMissingError("no Java 17 here")

    monkeypatch.setattr(java, "require", missing)
    ran = sandbox("demo")
    assert ran.code == 3
    assert ran.err == "sandbox: no Java 17 here; sandbox demo --no-pipeline leaves Spark out\n"
    assert not Path("runs").exists()
