"""``sandbox certify``: its certificate, its exit codes, and what it leaves behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from emulator.channels.kind_registry import KINDS, MemoryQueues
from emulator.channels.kinds import ChannelKind
from sandbox.certify.clause import Role
from sandbox.certify.clauses import CLAUSES, clauses
from sandbox.certify.stages import CONSUMER, QUEUE_CONSUMER, QUEUE_STAGES, STREAM_STAGES
from tests.sandbox.cli.conftest import Ran
from tests.waiting import wait_until

CLIENTS = Path(__file__).parents[1] / "certify" / "clients"
RIGHT = (sys.executable, str(CLIENTS / "right_consumer.py"))
_RUN = "import signal, sys; signal.signal(2, signal.default_int_handler); from sandbox.cli import main; "


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the stages only the first, which takes a second."""
    monkeypatch.setitem(STREAM_STAGES, Role.CONSUMER, CONSUMER[:1])


def test_the_list_tells_of_every_clause(sandbox: Callable[..., Ran]) -> None:
    """What each clause demands and how it is tried, for programs, and for people in 80 columns."""
    ran = sandbox("certify", "list", "--json")
    rows = json.loads(ran.out)
    assert [(row["role"], row["id"]) for row in rows] == [(each.role, each.id) for each in CLAUSES]
    assert all(row["demand"] and row["exercise"] and row["source"] and row["needed"] for row in rows)
    table = sandbox("certify", "list").out
    assert all(each.id in table.splitlines() for each in CLAUSES)
    assert max(map(len, table.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--level", "platinum"), "platinum"),
        (("--group", "all"), "all"),
        (
            ("--group", "contract", "--level", "bronze"),
            "no clause of the group contract is in the level bronze",
        ),
        (("--processed", "("), "no regular expression"),
        (("--subject", "nowhere.py"), "nowhere.py"),
        (("--patience", "soon"), "soon"),
        (("--stage", "flood"), "there is no stage 'flood' here"),
        (("--stage", "split:0"), "a whole number from 1 on"),
        (("--seed", "x"), "x"),
        (("--channel", "sqs"), "'sqs' is not one of kinesis, rabbitmq;"),
        (("--channel", "mock"), "rabbitmq: its kind does not say how its clients are certified"),
        (("--channel", "rabbitmq", "--stage", "split"), "there is no stage 'split' here"),
    ],
)
def test_a_wrong_option_is_a_usage_error(
    sandbox: Callable[..., Ran], options: tuple[str, ...], said: str
) -> None:
    """It is named before any client is started; no clause selected is no pass."""
    ran = sandbox("certify", "consumer", *options, "--", *RIGHT)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_a_command_is_needed(sandbox: Callable[..., Ran]) -> None:
    """Without a client there is nothing to certify."""
    assert sandbox("certify", "consumer", "--level", "bronze").code == 2


def test_a_command_that_is_not_there_is_named(sandbox: Callable[..., Ran]) -> None:
    """The environment is at fault, so that CI can tell it from a client that fails."""
    ran = sandbox("certify", "consumer", "--", "no-such-client")
    assert (ran.code, ran.out) == (3, "")
    assert "no-such-client cannot be started" in ran.err


def test_the_certificate_as_json(sandbox: Callable[..., Ran], tmp_path: Path) -> None:
    """One object on standard output and nothing else; every clause is on it, those left out with why."""
    ran = sandbox(
        *("certify", "consumer", "--json", "--seed", "5", "--level", "bronze", "--to", "out"),
        *("--subject", RIGHT[1], "--", *RIGHT),
    )
    certificate = json.loads(ran.out)
    assert {"kit", "subject", "seed", "level", "clauses", "counts", "seconds"} <= certificate.keys()
    assert (ran.code, certificate["level"], certificate["seed"]) == (0, "bronze", 5)
    assert certificate["subject"] == {
        "command": list(RIGHT),
        "files": {RIGHT[1]: sha256(Path(RIGHT[1]).read_bytes()).hexdigest()},
    }
    found = {each["id"]: each for each in certificate["clauses"]}
    assert [*found] == [each.id for each in clauses(Role.CONSUMER)]
    assert certificate["kit"]["clauses"] == len(found) == sum(certificate["counts"].values())
    assert found["nothing-lost"].keys() == {
        *("id", "group", "verdict", "exposure", "needed", "reason", "demand", "source", "evidence", "replay"),
        *("level", "advice"),
    }
    assert found["every-shard-read"]["verdict"] == "not exercised"
    assert found["every-shard-read"]["reason"] == "not-in-level"
    assert "--seed 5 --level bronze" in found["nothing-lost"]["replay"]
    assert json.loads((tmp_path / "out" / "certificate.json").read_bytes()) == certificate


@pytest.mark.usefixtures("short")
def test_a_group_that_was_left_out_is_told(sandbox: Callable[..., Ran]) -> None:
    """A client whose contract was not tried is not gold, and the certificate says why."""
    ran = sandbox("certify", "consumer", "--json", "--group", "delivery", "--no-shrink", "--", *RIGHT)
    found = json.loads(ran.out)["clauses"]
    left_out = {each["id"] for each in found if each["reason"] == "deselected"}
    assert left_out == {each["id"] for each in found if each["group"] == "contract"} != set()
    assert ran.code == 4
    assert json.loads(ran.out)["level"] in {"bronze", None}


@pytest.mark.usefixtures("short")
def test_a_kind_of_an_extension_that_says_how(
    sandbox: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its clients are certified in the lab that it names, by the clauses that are for every kind."""
    theirs = ChannelKind("theirs", MemoryQueues, certified="sandbox.certify.certified_kinds:STREAM")
    monkeypatch.setitem(KINDS, "theirs", theirs)
    ran = sandbox("certify", "consumer", "--channel", "theirs", "--json", "--level", "bronze", "--", *RIGHT)
    found = {each["id"]: each for each in json.loads(ran.out)["clauses"]}
    assert (ran.code, json.loads(ran.out)["channel"]) == (0, "theirs")
    assert found["nothing-lost"]["verdict"] == "pass"
    assert "every-shard-read" not in found


def test_a_consumer_of_a_queue(sandbox: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """The channel chooses the clauses, and is part of the command that repeats the run."""
    monkeypatch.setitem(QUEUE_STAGES, Role.CONSUMER, QUEUE_CONSUMER[:1])
    program = str(CLIENTS / "right_queue_consumer.py")
    ran = sandbox(
        *("certify", "consumer", "--channel", "rabbitmq", "--json", "--level", "bronze", "--seed", "2"),
        *("--", sys.executable, program),
    )
    found = {each["id"]: each for each in json.loads(ran.out)["clauses"]}
    assert (ran.code, json.loads(ran.out)["channel"]) == (0, "rabbitmq")
    assert "every-shard-read" not in found
    assert found["acks-after-the-effect"]["verdict"] == "pass"
    assert "--channel rabbitmq" in found["nothing-lost"]["replay"]


@pytest.mark.usefixtures("short")
def test_a_failure_is_shown_with_its_evidence(sandbox: Callable[..., Ran], tmp_path: Path) -> None:
    """Exit code 1, the verdict, the messages, and the command that repeats it."""
    right = Path(RIGHT[1]).read_text(encoding="utf-8")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(right.replace('if message_id not in state["ids"]', "if True"), encoding="utf-8")
    ran = sandbox(
        *("certify", "consumer", "--level", "bronze", "--seed", "3", "--no-shrink"),
        *("--", sys.executable, str(wrong)),
    )
    assert ran.code == 1
    assert "was reported 2 times" in ran.out
    assert "in the stage duplicates: Some messages are sent twice" in ran.out
    assert all(
        len(line) <= 80 or str(wrong) in line or sys.executable in line for line in ran.out.splitlines()
    )
    repeat = ran.out[ran.out.index("repeat with: ") :].removeprefix("repeat with: ").replace("\\\n", "")
    assert shlex.split(repeat.splitlines()[0]) == [
        *("sandbox", "certify", "consumer", "--seed", "3", "--level", "bronze", "--"),
        *(sys.executable, str(wrong)),
    ]


@pytest.mark.usefixtures("short")
def test_a_dying_clients_last_lines_are_shown_once(sandbox: Callable[..., Ran], tmp_path: Path) -> None:
    """The traceback is in the terminal, the page and JUnit, with how often the client died of it."""
    right = Path(RIGHT[1]).read_text(encoding="utf-8")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        right.replace(
            "def process(record: dict) -> None:\n",
            "def process(record: dict) -> None:\n    raise KeyError('missing')\n",
        ),
        encoding="utf-8",
    )
    ran = sandbox(
        *("certify", "consumer", "--level", "bronze", "--seed", "3", "--no-shrink", "--to", "out"),
        *("--", sys.executable, str(wrong)),
    )
    assert ran.code == 1
    assert ran.out.count("KeyError: 'missing'") == 1
    assert "(9 times)" in ran.out
    for name in ("certificate.html", "junit.xml"):
        assert "KeyError" in (tmp_path / "out" / name).read_text(encoding="utf-8")


@pytest.mark.usefixtures("short")
def test_what_changed_since_another_certificate(sandbox: Callable[..., Ran], tmp_path: Path) -> None:
    """The verdicts that changed are named; a folder without a certificate is refused first."""
    command = ("certify", "consumer", "--level", "bronze", "--seed", "3", "--no-shrink")
    assert sandbox(*command, "--to", "before", "--", *RIGHT).code == 4
    right = Path(RIGHT[1]).read_text(encoding="utf-8")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(right.replace('if message_id not in state["ids"]', "if True"), encoding="utf-8")
    ran = sandbox(*command, "--compare", "before", "--", sys.executable, str(wrong))
    assert "nothing-twice: pass became fail" in ran.out
    (tmp_path / "empty").mkdir()
    refused = sandbox(*command, "--compare", "empty", "--", *RIGHT)
    assert (refused.code, refused.out) == (2, "")
    assert "is no certificate of this version" in refused.err


@pytest.mark.usefixtures("short")
def test_ids_from_the_clients_own_lines(sandbox: Callable[..., Ran], tmp_path: Path) -> None:
    """A pattern finds them, and is part of the command that repeats the run."""
    program = tmp_path / "talking.py"
    right = Path(RIGHT[1]).read_text(encoding="utf-8")
    program.write_text(right.replace('json.dumps({"processed"', 'repr({"done"'), encoding="utf-8")
    pattern = "'done': '([^']+)'"
    ran = sandbox(
        *("certify", "consumer", "--json", "--level", "bronze", "--processed", pattern),
        *("--", sys.executable, str(program)),
    )
    found = {each["id"]: each for each in json.loads(ran.out)["clauses"]}
    assert found["nothing-lost"]["verdict"] == "pass"
    assert found["bodies-unaltered"]["reason"] == "not-observable"
    assert "--processed" in found["nothing-lost"]["replay"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_ends_the_command_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    """The client and what it started, in its process group or not, are gone when the command has ended."""
    pids = tmp_path / "pids"
    script = f"setsid sleep 600 & echo $! $$ > {pids}.draft; mv {pids}.draft {pids}; wait"
    arguments = ["certify", "consumer", "--level", "bronze", "--", "sh", "-c", script]
    command = [sys.executable, "-c", f"{_RUN}sys.exit(main({arguments!r}))"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(lambda: pids.exists() or process.poll() is not None)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert [pid for pid in map(int, pids.read_text(encoding="utf-8").split()) if _runs(pid)] == []


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[:1]
