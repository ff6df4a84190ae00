"""Scenarios with messages of a document: each plays as with RDSS, or says in a sentence why it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import yaml

_FOLDER: Final = Path(__file__).parent
_OWN: Final = {
    "name": "mine",
    "title": "Mine",
    "teach": {"happens": "a", "why": "b", "client": "c"},
    "workload": {"messages": 12, "bad": {"invalid": 2, "unknown-type": 1}},
    "expect": {"processed": 12, "rejected": "== due", "rejected.unknown-type": 1},
}


def _play(folder: Path, document: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sandbox", "scenario", "run", "--seed", "3", *words],
        cwd=folder,
        env={**os.environ, "SANDBOX_CONTRACT": str(_FOLDER / document)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("document", "channel"),
    [
        ("jobs.yaml", "memory"),
        ("jobs.yaml", "kinesis"),
        ("jobs.yaml", "rabbitmq"),
        ("readings.yaml", "rabbitmq"),
    ],
)
def test_refusing_goes_to_the_channel_that_is_declared(document: str, channel: str, tmp_path: Path) -> None:
    """A file of one's own expects the document's codes; ours of expiry plays with its code too."""
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(_OWN), encoding="utf-8")
    ran = _play(tmp_path, document, "mine.yaml", "expired-message", "--channel", channel)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [line.split()[:2] for line in ran.stdout.splitlines()[:2]] == [
        ["pass", "mine"],
        ["pass", "expired-message"],
    ]


@pytest.mark.parametrize("channel", ["memory", "kinesis"])
def test_ids_in_headers_need_channels_that_carry_them(channel: str, tmp_path: Path) -> None:
    """A stream has none: nothing could be judged of what became of each message."""
    ran = _play(tmp_path, "readings.yaml", "happy-path", "--channel", channel)
    assert ran.returncode == 4, ran.stderr
    assert "messages of readings have no id in their payload" in ran.stdout
    assert "channels of rabbitmq carry headers" in ran.stdout
    command = _play(tmp_path, "readings.yaml", "happy-path", "--client", "--", "true")
    assert command.returncode == 2
    assert "a command, which reads a stream: messages of readings have no id" in command.stderr


@pytest.mark.parametrize("words", [("happy-path",), ("mine.yaml",), ("--all",)])
def test_messages_without_ids_are_not_played(words: tuple[str, ...], tmp_path: Path) -> None:
    """It is said before anything runs, with what to declare, or what says so."""
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(_OWN | {"workload": {}}), encoding="utf-8")
    ran = _play(tmp_path, "nameless_jobs.yaml", *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "declare x-sandbox.id" in ran.stderr or "sandbox scenario run happy-path says why" in ran.stderr
