"""The clauses and their table, the lines that clients print, and the files of a certificate."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from emulator.channels.kind_registry import list_kinds
from rdss_sandbox.shapes.certificate import Certificate, ClauseVerdict
from rdss_sandbox.shapes.trace import Delivery, Put, PutEntry, Read
from sandbox.certify.certified_kinds import find_certified
from sandbox.certify.clause import Clause, Group, Role
from sandbox.certify.clause_verdicts import count_verdicts, judge_clauses, judge_levels
from sandbox.certify.clauses import CLAUSES, clauses
from sandbox.certify.history import (
    FinalShard,
    History,
    KeptRecord,
    Level,
    Life,
    OfferedMessage,
    Returned,
    SentBad,
    SentOlder,
    SentSequence,
    Statement,
)
from sandbox.certify.results_folder import write_results
from sandbox.certify.told_lines import json_lines, matching_lines
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from tests.docs.certify_page import renewed
from tests.taken_out import needs


def _history(sent: int = 12) -> History:
    """Twelve messages on one shard, each read and told once."""
    history = History("input", 0.0)
    ids = [f"m-{number}" for number in range(sent)]
    history.sent = [OfferedMessage(each, f"digest of {each}", Level.BRONZE, 0.0) for each in ids]
    history.told = [Statement(each, 2.0, 0) for each in ids]
    history.lives = [Life(0, 0.0, 3.0, "SIGTERM")]
    history.stages = [(0.0, "duplicates", Level.BRONZE)]
    stored = tuple((f"{at}", each) for at, each in enumerate(ids))
    history.shards = [FinalShard("shardId-000000000000", (), stored)]
    records = tuple(Delivery(*each) for each in stored)
    history.exchanges = [Read(1.0, 0, "input", "shardId-000000000000", "a", records)]
    return history


def _judge(history: History, name: str, role: Role = Role.CONSUMER) -> tuple[ClauseVerdict, int, str | None]:
    wanted = [each for each in clauses(role) if each.id == name]
    (result,), _ = judge_clauses(wanted, history, "again")
    return result.verdict, result.exposure, result.reason


def test_nothing_is_lost_when_all_is_told() -> None:
    """A message that was never reported is lost, and the evidence says where it lies."""
    history = _history()
    assert _judge(history, "nothing-lost") == (ClauseVerdict.PASS, 12, None)
    history.told.pop()
    assert _judge(history, "nothing-lost") == (ClauseVerdict.FAIL, 12, None)


def test_a_repeat_after_a_kill_is_excused_once() -> None:
    """A consumer tells before its checkpoint: of those told again after a SIGKILL one is excused."""
    history = _history()
    history.lives = [Life(0, 0.0, 3.0, "SIGKILL"), Life(1, 3.0, 9.0, "SIGTERM")]
    history.exchanges *= 2
    history.told.append(Statement("m-1", 4.0, 1))
    assert _judge(history, "nothing-twice") == (ClauseVerdict.PASS, 12, None)
    history.told.append(Statement("m-2", 4.1, 1))
    assert _judge(history, "nothing-twice") == (ClauseVerdict.FAIL, 12, None)


def test_what_was_never_sent_changes_no_verdict() -> None:
    """A client may print ids that the kit does not know, as often as it likes, and excuses nothing by it."""
    history = _history()
    history.lives = [Life(0, 0.0, 3.0, "SIGKILL"), Life(1, 3.0, 9.0, "SIGTERM")]
    history.exchanges *= 2
    before = judge_clauses(clauses(Role.CONSUMER), history, "again")
    history.told += [Statement(each, 2.5 + life, life) for each in ("ready", "m", "n") for life in (0, 1)]
    assert judge_clauses(clauses(Role.CONSUMER), history, "again") == before
    history.told.append(Statement("m-1", 4.0, 1))
    assert _judge(history, "nothing-twice")[0] is ClauseVerdict.PASS


def test_what_is_lost_later_is_not_the_kills() -> None:
    """A message that was sent after the next start, and lost, was not skipped over the kill."""
    history = _history()
    history.lives = [Life(0, 0.0, 3.0, "SIGKILL"), Life(1, 3.1, 9.0, "SIGTERM")]
    history.exchanges.append(Read(4.0, 1, "input", "shardId-000000000000", "b", ()))
    history.told.pop()
    history.sent[-1] = msgspec.structs.replace(history.sent[-1], at=5.0)
    (later,) = _findings(history, "resumes-after-a-kill") or ("none",)
    history.sent[-1] = msgspec.structs.replace(history.sent[-1], at=3.05)
    assert (later, *_findings(history, "resumes-after-a-kill")) == (
        "none",
        "1 messages were skipped over the kill at 3.00 s",
    )


def _findings(history: History, name: str) -> tuple[str, ...]:
    (clause,) = [each for each in clauses(Role.CONSUMER) if each.id == name]
    return tuple(finding.said for finding in clause.judge(history).findings)


def test_a_repeat_after_a_restart_is_not_excused() -> None:
    """SIGTERM gives a consumer the time to write its checkpoint."""
    history = _history()
    history.lives.append(Life(1, 3.0, 9.0, "SIGTERM"))
    history.exchanges *= 2
    history.told.append(Statement("m-1", 4.0, 1))
    assert _judge(history, "nothing-twice")[0] is ClauseVerdict.FAIL


def test_what_did_not_happen_is_no_pass() -> None:
    """A clause whose stimulus did not reach the client is not exercised, and says why."""
    assert _judge(_history(), "every-shard-read") == (ClauseVerdict.NOT_EXERCISED, 0, "stimulus-never-landed")
    assert _judge(_history(), "bodies-unaltered") == (ClauseVerdict.NOT_EXERCISED, 0, "not-observable")
    gone = _history()
    gone.lives = [Life(0, 0.0, 1.0, "itself", 3)]
    assert _judge(gone, "every-shard-read")[2] == "client-exited-early"


def test_an_early_end_fails_the_clause_under_way() -> None:
    """A consumer that ends by itself fails the clause that was tried, with its exit code and last lines."""
    history = _history()
    history.lives = [Life(0, 0.0, 1.0, "itself", 3, "duplicates", "nothing-lost", output=("no stream",))]
    (result,), _ = judge_clauses(clauses(Role.CONSUMER)[:1], history, "again")
    assert result.verdict is ClauseVerdict.FAIL
    assert "exit code 3" in result.evidence[0].said
    assert result.evidence[0].output == ("no stream",)


def test_a_judge_that_raises_spoils_no_other_verdict() -> None:
    """A clause whose judge fails is not exercised, by a reason of its own."""

    def broken(_history: History) -> None:
        raise ZeroDivisionError

    wrong = Clause(broken, "x", Role.CONSUMER, Group.DELIVERY, Level.BRONZE, "", "", "", 1)  # type: ignore[arg-type]
    results, reached = judge_clauses([wrong, *clauses(Role.CONSUMER, Level.BRONZE)], _history(), "again")
    assert results[0].reason == "judge-error: ZeroDivisionError()"
    assert results[1].verdict is ClauseVerdict.PASS
    assert reached is None


def test_no_level_is_above_a_failed_clause_of_it() -> None:
    """What is lost in the stages of silver takes bronze away: its clause demands that nothing is lost."""
    wanted = [each for each in clauses(Role.CONSUMER) if each.id in {"nothing-lost", "reads-within-limits"}]
    history = _history()
    history.sent.append(OfferedMessage("m-late", "digest", Level.SILVER, 5.0))
    results, reached = judge_clauses(wanted, history, "again")
    assert reached is None
    assert judge_levels(results) == {"bronze": ClauseVerdict.FAIL}


@pytest.mark.parametrize(
    ("told", "verdict"),
    [(["p-2"], ClauseVerdict.PASS), ([], ClauseVerdict.FAIL), (["p-1", "p-2"], ClauseVerdict.FAIL)],
)
def test_a_sequence_is_told_once(told: list[str], verdict: ClauseVerdict) -> None:
    """The parts of a sequence count as one message, by whichever of their ids it is told."""
    history = _history()
    history.sequences = [SentSequence(("p-1", "p-2"), "d", 0.0), SentSequence(("q-1", "q-2"), "d", 0.0)]
    history.told += [Statement(each, 3.0, 0) for each in (*told, "q-1")]
    assert _judge(history, "joins-sequences")[0] is verdict


@pytest.mark.parametrize("wrong", ["code", "queue", "nowhere", "processed", ""])
def test_rejects_need_the_right_queue_and_code(wrong: str) -> None:
    """A bad message must be in the queue of its code, with that code, and not be processed."""
    history = _history()
    data = {code: Samples(1).bad(code) for code in (ErrorCode.GENERR001,)}[ErrorCode.GENERR001]
    name = msgspec.json.decode(data)["messageHeader"]["messageId"]
    history.bad = [SentBad(name, "GENERR001", "invalid", 1.0)] * 5
    code = b"GENERR002" if wrong == "code" else b"GENERR001"
    stored = KeptRecord(
        name, b'{"messageHeader":{"messageId":"%s","errorCode":"%s"}}' % (name.encode(), code)
    )
    (history.errors if wrong == "queue" else history.invalid).append(stored)
    if wrong == "nowhere":
        history.invalid.clear()
    if wrong == "processed":
        history.told.append(Statement(name, 2.0, 0))
    expected = ClauseVerdict.FAIL if wrong else ClauseVerdict.PASS
    assert _judge(history, "rejects-with-the-right-code")[0] is expected


def test_good_messages_behind_a_bad_one_are_processed() -> None:
    """What comes behind a bad message must not wait for it."""
    history = _history()
    history.bad = [SentBad("bad", "GENERR001", "invalid", 0.0)]
    assert _judge(history, "poison-stops-nothing")[0] is ClauseVerdict.PASS
    history.told.pop()
    assert _judge(history, "poison-stops-nothing")[0] is ClauseVerdict.FAIL


def test_expired_messages_go_to_the_error_queue() -> None:
    """GENERR003 is for the error queue."""
    history = _history()
    history.bad = [SentBad("old", "GENERR003", "error", 0.0)] * 2
    assert _judge(history, "refuses-expired")[0] is ClauseVerdict.FAIL
    history.errors.append(KeptRecord("old", b'{"messageHeader":{"messageId":"old","errorCode":"GENERR003"}}'))
    assert _judge(history, "refuses-expired")[0] is ClauseVerdict.PASS


def test_older_versions_are_processed() -> None:
    """A message of an older version that is rejected, or nowhere, is a breach that names the version."""
    history = _history()
    history.older = [SentOlder(f"m-{at}", "3.0.1", 1.0) for at in range(3)]
    assert _judge(history, "knows-older-versions") == (ClauseVerdict.PASS, 3, None)
    history.told.pop(0)
    assert _judge(history, "knows-older-versions")[0] is ClauseVerdict.FAIL


def test_an_echo_is_neither_processed_nor_rejected() -> None:
    """What the client published and got back counts from then on; who publishes nothing is not judged."""
    history = _history()
    assert _judge(history, "drops-its-own-echo")[0] is ClauseVerdict.NOT_EXERCISED
    history.stages.append((2.5, "its own messages", Level.GOLD))
    assert _judge(history, "drops-its-own-echo") == (ClauseVerdict.NOT_APPLICABLE, 0, "feature-never-used")
    history.returned = [Returned("m-1", "output", 3.0), Returned("m-2", "invalid", 3.0)]
    back = (Delivery("20", "m-1"), Delivery("21", "m-2"))
    assert _judge(history, "drops-its-own-echo")[1:] == (0, "stimulus-never-landed")
    history.exchanges.append(Read(4.0, 0, "input", "shardId-000000000000", "b", back))
    assert _judge(history, "drops-its-own-echo") == (ClauseVerdict.PASS, 2, None)
    again = Put(5.0, 5.0, 0, "invalid", (PutEntry("m-2", "digest", 10, "m-2"),))
    history.exchanges.append(again)
    assert _judge(history, "drops-its-own-echo")[0] is ClauseVerdict.FAIL
    history.exchanges.pop()
    history.told.append(Statement("m-1", 5.0, 0))
    assert _judge(history, "drops-its-own-echo")[0] is ClauseVerdict.FAIL


@needs("functions")
def test_the_page_is_up_to_date() -> None:
    """docs/certify.md has the clauses as they are.

    python -m tests.docs.certify_page docs/certify.md renews it.
    """
    page = (Path(__file__).parents[3] / "docs" / "certify.md").read_text(encoding="utf-8")
    assert renewed(page) == page


@pytest.mark.parametrize("channel", list_kinds("certified"))
@pytest.mark.parametrize("role", Role)
def test_each_clause_is_tried_by_a_stage_or_by_all(role: Role, channel: str) -> None:
    """The clauses that a stage names exist, and ids are used once for a role on a channel."""
    names = [each.id for each in clauses(role, channel=channel)]
    assert len(names) == len(set(names))
    assert {each.clause for each in find_certified(channel).stages[role]} <= set(names)
    assert all(each.demand.endswith(".") and each.exercise.endswith(".") for each in CLAUSES)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"processed": "m-1"}', [("m-1", None)]),
        ('{"processed": "m-1", "sha256": "AB"}', [("m-1", "ab")]),
        ('{"processed": ["m-1", "m-2"], "sha256": ["AB"]}', [("m-1", "ab"), ("m-2", None)]),
        ('{"processed": ["m-1", 7]}', [("m-1", None)]),
        ('{"processed": 7}', []),
        ('{"sent": "m-1"}', []),
        ("[1]", []),
        ("{", []),
        ("processed m-1", []),
        ("", []),
    ],
)
def test_lines_of_json(line: str, told: list[tuple[str, str | None]]) -> None:
    """Only an object with the field as text, or a list of texts for a batch, tells of messages."""
    assert list(json_lines("processed")(line)) == told


@pytest.mark.parametrize("pattern", [r"done (?P<id>\S+)", r"done (\S+)", r"(?<=done )\S+"])
def test_lines_of_a_log(pattern: str) -> None:
    """The id is the group of that name, the first group, or the whole match."""
    read = matching_lines(pattern)
    assert read("12:00 INFO done m-1") == (("m-1", None),)
    assert read("12:00 INFO waiting") == ()


def test_a_wrong_pattern_is_refused() -> None:
    """A pattern that is no regular expression raises at once."""
    with pytest.raises(re.error):
        matching_lines("(")


def test_the_files_of_a_certificate(tmp_path: Path) -> None:
    """JSON, page, JUnit, badge and events are written, through no link, and hold what was judged, escaped."""
    history = _history()
    history.told.pop()
    results, reached = judge_clauses(clauses(Role.CONSUMER), history, "sandbox certify <again>")
    certificate = Certificate(
        {"version": 1, "sandbox": "0", "clauses": len(results)},
        {"command": ["python", "<client>"], "files": {}},
        "consumer",
        "kinesis",
        7,
        reached,
        results,
        count_verdicts(results),
        1.5,
    )
    names = ("certificate.json", "certificate.html", "junit.xml", "badge.svg", "events.ndjson")
    (tmp_path / "out").mkdir()
    for name in names:
        (tmp_path / name).write_text("elsewhere")
        (tmp_path / "out" / name).symlink_to(tmp_path / name)
    write_results(certificate, history, tmp_path / "out")
    assert all((tmp_path / name).read_text() == "elsewhere" for name in names)
    assert {each.name for each in (tmp_path / "out").iterdir()} == {*names}
    written = msgspec.json.decode((tmp_path / "out" / "certificate.json").read_bytes())
    assert {each["id"] for each in written["clauses"] if each["verdict"] == "fail"} == set(certificate.failed)
    page = (tmp_path / "out" / "certificate.html").read_text(encoding="utf-8")
    assert "m-11 was read and never reported" in page
    assert "<client>" not in page
    suite = ET.fromstring((tmp_path / "out" / "junit.xml").read_bytes())
    assert int(suite.attrib["failures"]) == len(certificate.failed) > 0
    assert len(suite.findall("testcase/skipped")) == int(suite.attrib["skipped"]) > 0
    assert "not certified" in (tmp_path / "out" / "badge.svg").read_text(encoding="utf-8")
    lines = (tmp_path / "out" / "events.ndjson").read_bytes().splitlines()
    assert len(lines) == len(history.exchanges) + len(history.told) + len(history.lives)
