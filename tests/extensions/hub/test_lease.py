"""A seat for a time: what it gives, that it goes, and the jobs of pull requests that ask for one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from rdss_sandbox.client import RefusedError
from tests.docs.pages import ROOT, blocks
from tests.extensions.hub.running_hub import RunningHub, run_sandbox, start_hub
from tests.test_ci import Runner
from tests.waiting import wait_until

_PUT = """\
import boto3
kinesis = boto3.client("kinesis")
kinesis.put_record(StreamName="input", Data=b"one", PartitionKey="1")
"""
_JOB = f"{sys.executable} put.py\nsandbox wait --for 'stream input has 1 message' --timeout 20s"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[RunningHub]:
    folder = tmp_path / "hub"
    folder.mkdir()
    with start_hub(folder) as found:
        yield found


def _lease(hub: RunningHub, name: str, time: str) -> str:
    asked = ("hub", "lease", "--name", name, "--for", time, "--control", hub.url)
    return run_sandbox(*asked, folder=hub.folder, variables={"SANDBOX_TOKEN": hub.admin})


def _count(hub: RunningHub, name: str) -> int:
    status = hub.control(hub.find(name)).status()
    return next(each for each in status.streams if each.name == "input").records


def test_it_goes_with_everything_when_its_time_is_over(hub: RunningHub) -> None:
    """Renewed, it keeps the token and what it holds; then another of that name begins with nothing."""
    said = _lease(hub, "pr-1", "2h")
    seat = hub.find("pr-1")
    assert f"AWS_ACCESS_KEY_ID={seat.token}" in said
    hub.aws(seat).put_record(StreamName="input", Data=b"one", PartitionKey="1")
    renewed = hub.find("pr-1") if _lease(hub, "pr-1", "3h") else seat
    assert (renewed.token, _count(hub, "pr-1")) == (seat.token, 1)
    assert renewed.until is not None
    assert seat.until is not None
    assert renewed.until - seat.until > 3_000
    _lease(hub, "pr-1", "1s")
    folder = hub.folder / ".sandbox" / "hub" / "pr-1"
    wait_until(
        lambda: not any(each.name == "pr-1" for each in hub.seats.list().seats) and not folder.exists()
    )
    _lease(hub, "pr-1", "2h")
    assert _count(hub, "pr-1") == 0


def test_a_seat_for_good_is_not_leased(hub: RunningHub) -> None:
    """Else a job of that name would end what somebody keeps."""
    hub.add("anna")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        _lease(hub, "anna", "2h")
    assert "anna has a seat for good, which a lease would end" in refused.value.stderr
    assert hub.find("anna").until is None
    with pytest.raises(RefusedError):
        hub.seats.remove("nobody")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_action_runs_a_command_at_the_hub(hub: RunningHub, tmp_path: Path) -> None:
    """Twice: each run begins with an empty seat, none starts a sandbox, and the seat is there afterwards."""
    given = {"hub": hub.url, "hub-token": hub.admin, "lease": "pr-7", "run": _JOB}
    for turn in ("first", "second"):
        (tmp_path / turn).mkdir()
        runner = Runner(tmp_path / turn, given)
        runner.set_path(Path(sys.executable).parent)
        (runner.workspace / "put.py").write_text(_PUT)
        done = runner.run(without="Set up the sandbox")
        assert [code for _, code in done] == [0] * 5, done
        assert not (runner.workspace / ".sandbox" / "running.json").exists()
        assert '"sandbox.reset"' in (Path(runner.output("results")) / "events.ndjson").read_text()
    assert _count(hub, "pr-7") == 1
    assert hub.find("pr-7").until is not None


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_lines_of_the_gitlab_job(hub: RunningHub, tmp_path: Path) -> None:
    """As docs/ci.md has them, but for the installation: the sandbox of this checkout is on the path."""
    (pipeline,) = (
        yaml.safe_load(each.text)["test"]
        for each in blocks(ROOT / "docs" / "ci.md")
        if each.language == "yaml" and "hub lease" in each.text
    )
    assert pipeline["script"] == ["pytest"]
    lines = [each for each in pipeline["before_script"] if ".sandbox-venv" not in each]
    assert len(lines) == 3
    (tmp_path / "put.py").write_text(_PUT)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SANDBOX_", "AWS_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = {"PATH": path, "HUB": hub.url, "HUB_TOKEN": hub.admin, "CI_MERGE_REQUEST_IID": "9"}
    script = "\n".join([*lines, _JOB])
    shell = ["bash", "-e", "-o", "pipefail", "-c", script]
    subprocess.run(shell, cwd=tmp_path, env={**own, **given}, check=True, timeout=120)
    assert _count(hub, "mr-9") == 1
