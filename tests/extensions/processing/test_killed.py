"""A process that is killed, anywhere: nothing lost, nothing repeated that was recorded, nothing stuck."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_OK = {"set": "OK", "split": "OK", "split_1": "OK", "split_2": "OK"}
_CALLS = {
    "billing set": 1,
    "mno set": 2,
    "crm split": 1,
    "billing split_1": 1,
    "mno split_1": 1,
    "billing split_2": 1,
    "mno split_2": 1,
}


@pytest.mark.parametrize("how", ["python", pytest.param("declared", marks=pytest.mark.slow)])
def test_a_process_ended_by_kill_9_at_any_step_loses_and_repeats_nothing(tmp_path: Path, how: str) -> None:
    """Before each statement of its store, and before and after each call outside, one by one."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "tests.extensions.processing.killed", str(tmp_path), how]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=150, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    lives = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(lives) > 100
    for moment, life in enumerate(lives, 1):
        assert life["states"] == _OK, moment
        assert life["repeated"] == [], moment
        assert life["illegal"] == [], moment
        assert set(life["confirmed"]) == {f"{name} OK" for name in _OK}, moment
        # One call at most was under way when the process died, and nobody can know how it went.
        again = {call: count - _CALLS[call] for call, count in life["calls"].items() if count > _CALLS[call]}
        assert sum(again.values()) <= 1, moment
    assert lives[-1]["calls"] == _CALLS
