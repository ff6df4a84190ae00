"""``sandbox run``: a command with a sandbox of its own, and nothing left of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.machine import process_ids
from rdss_sandbox.deadline import Deadline

_ENVIRONMENT = """
import boto3, json, os
print(json.dumps({
    "streams": boto3.client("kinesis").list_streams()["StreamNames"],
    "control": os.environ["SANDBOX_CONTROL"],
    "profile": os.environ.get("AWS_PROFILE"),
}))
"""


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "sandbox", "run", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)  # type: ignore[call-overload, no-any-return]


def test_the_command_finds_the_sandbox_by_its_environment(tmp_path: Path) -> None:
    """With the options that it was given; no profile leads it elsewhere, and no file is left here."""
    (tmp_path / "mine.toml").write_text("[streams]\nmine = 1\n")
    given = {**os.environ, "AWS_PROFILE": "mine"}
    ran = run("--topology", "mine.toml", "--", sys.executable, "-c", _ENVIRONMENT, cwd=tmp_path, env=given)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert (found["streams"], found["profile"]) == (["mine"], None)
    assert found["control"].startswith("http://127.0.0.1:")
    assert [each.name for each in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize(
    ("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("sandbox-run-nothing", 127)]
)
def test_the_exit_code_is_the_commands(script: str, code: int) -> None:
    """Of one that a signal ended too, as a shell tells it."""
    assert run("--", "sh", "-c", script).returncode == code


def test_what_cannot_be_started_is_told_in_a_line() -> None:
    """The command, or the sandbox."""
    ran = run("--", "no-such-command")
    assert (ran.returncode, ran.stderr.count("\n")) == (3, 1)
    assert "no-such-command cannot be started" in ran.stderr
    ran = run("--topology", "nowhere.toml", "--", "true")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "no topology 'nowhere.toml'" in ran.stderr


def test_a_signal_reaches_the_command_and_nothing_is_left(tmp_path: Path) -> None:
    """SIGTERM is the command's to answer; what it left running in another session ends too."""
    pids = tmp_path / "pids"
    script = (
        f"setsid sleep 300 & curl -s $SANDBOX_CONTROL/status > {tmp_path}/status; echo $! > {pids}.new; "
        f"trap 'exit 3' TERM; mv {pids}.new {pids}; while :; do sleep 0.05; done"
    )
    process = subprocess.Popen([sys.executable, "-P", "-m", "sandbox", "run", "--", "sh", "-c", script])
    deadline = Deadline(120)
    while not pids.exists():
        assert process.poll() is None
        assert not deadline.passed
        deadline.pause()
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 3
    left = int(pids.read_text())
    while process_ids.state(left) not in {None, "Z"}:
        assert not deadline.passed
        deadline.pause()
    emulator = json.loads((tmp_path / "status").read_text())["pid"]
    assert process_ids.state(emulator) in {None, "Z"}
