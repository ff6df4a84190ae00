"""Whatever a client does, there is a clear verdict in bounded time, and no process is left behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from emulator.clock import stopwatch
from rdss_sandbox.shapes.certificate import ClauseVerdict
from sandbox.certify.clause import Role
from sandbox.certify.client_process import ClientNotStartedError, ClientProcess
from sandbox.certify.trial import certify
from tests.sandbox.certify.trials import build_trial
from tests.waiting import wait_until

_BOUND_SECONDS = 60.0
_STRANGE = {
    "dies at once": "exit 3",
    "ends at once": "true",
    "prints nothing": "exec sleep 600",
    "prints rubbish": 'printf "{\\377\\n{}\\n[1]\\n{\\"processed\\": 7}\\n"; exec sleep 600',
    "fills its output": "exec yes 0123456789",
    "tells without end": 'exec yes \'{"processed": "m-1"}\'',
    "never ends a line": "exec cat /dev/zero",
    "ignores SIGTERM": "trap '' TERM; while :; do sleep 1; done",
}


@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.parametrize("script", _STRANGE.values(), ids=_STRANGE)
def test_strange_consumers_get_a_verdict(script: str) -> None:
    """A client that reads nothing fails, since nothing that was sent was processed; it takes seconds."""
    began = stopwatch()
    trial = build_trial(Role.CONSUMER, "sh", "-c", script, patience=1.0)
    certificate, history = certify(trial, lambda _doing: None)
    verdicts = {each.id: each.verdict for each in certificate.clauses}
    assert verdicts.pop("nothing-lost") is ClauseVerdict.FAIL
    assert set(verdicts.values()) <= {ClauseVerdict.NOT_EXERCISED, ClauseVerdict.FAIL}
    assert certificate.level is None
    assert stopwatch() - began < _BOUND_SECONDS
    assert all(life.ended is not None for life in history.lives)


_ENDLESS = """
import os, boto3, json, time, uuid
kinesis = boto3.client("kinesis")
message = json.loads(open(os.environ["SANDBOX_MESSAGES"]).readline())
while True:
    message["messageHeader"]["messageId"] = str(uuid.uuid4())
    data = json.dumps(message)
    kinesis.put_record(StreamName=os.environ["SANDBOX_STREAM"], Data=data, PartitionKey="k")
    time.sleep(0.1)
"""


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_producer_that_is_never_done_is_cut_at_the_end_of_a_stages_time() -> None:
    """It gets a verdict on each part of its file, and the certificate says that it was cut."""
    trial = build_trial(Role.PRODUCER, sys.executable, "-c", _ENDLESS, patience=0.6)
    certificate, history = certify(trial, lambda _doing: None)
    assert [end.impatient for end in history.ends] == [True] * 3
    assert all(each.ended is not None and each.ended - each.began < 15 for each in history.lives)
    assert "keeps-the-message-id" in certificate.failed
    assert any("was cut while the client was at work" in each for each in certificate.remarks)


def test_a_client_leaves_no_process_behind(tmp_path: Path) -> None:
    """What the client started dies with it, in its process group or out of it."""
    pids = tmp_path / "pids"
    script = f"sleep 300 & echo $! >> {pids}; setsid sleep 300 & echo $! >> {pids}; echo started; wait"
    heard: list[str] = []
    process = ClientProcess(("sh", "-c", script), os.environ, tmp_path, heard.append)
    wait_until(lambda: "started" in heard)
    process.kill()
    left = [pid for pid in pids.read_text(encoding="utf-8").split() if _runs(pid)]
    assert left == []
    assert process.code == -9


def _runs(pid: str) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_lines_are_heard_until_the_end(tmp_path: Path) -> None:
    """Everything that a client wrote before its death is heard, buffered by Python or not."""
    heard: list[str] = []
    program = "import os\nprint('first')\nprint('second')\nos.kill(os.getpid(), 9)"
    process = ClientProcess((sys.executable, "-c", program), os.environ, tmp_path, heard.append)
    wait_until(lambda: process.code is not None)
    process.finish()
    assert heard == ["first", "second"]


def test_an_unknown_command_is_named(tmp_path: Path) -> None:
    """A command that is not there is refused by name, in words."""
    with pytest.raises(
        ClientNotStartedError, match=r"^\./no-such-client cannot be started: No such file or directory$"
    ):
        ClientProcess(("./no-such-client",), os.environ, tmp_path, lambda _line: None)
