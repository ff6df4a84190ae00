"""``sandbox certify merge``: certificates of parts, made apart, are together that of one run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from rdss_sandbox.shapes.certificate import FILE, Certificate, ClauseResult, ClauseVerdict, Finding
from sandbox.certify.certificate_parts import PartsError, merge_parts, whole_command
from sandbox.certify.clause import Role
from sandbox.certify.clause_verdicts import count_verdicts, judge_clauses, judge_levels
from sandbox.certify.clauses import clauses
from sandbox.certify.history import History, Level
from sandbox.certify.stages import CONSUMER
from sandbox.cli import main
from tests.sandbox.certify.trials import CLIENTS

_PLAN: Final = tuple(each.name for each in CONSUMER if each.level is Level.BRONZE)
_OF_THE_CLIENTS_OWN: Final = {"nothing-twice", "reads-within-limits"}
"""How often they are tried depends on the client's pace, and on what earlier stages left to repeat."""
_CLIENT: Final = ["./client", "--stage", "x"]
_KIT: Final = {"version": 1, "sandbox": "0", "clauses": 16, "contract": "rdss 4.0.0"}
_MOMENT: Final = re.compile(r"\d+\.\d+ s\b")


def _part(*names: str, **changes: Any) -> Certificate:
    """The part of a run to bronze that played these stages; nothing reached the client in it."""
    stages = [word for each in names for word in ("--stage", each)]
    words = ["sandbox", "certify", "consumer", "--seed", "7", "--level", "bronze", *stages]
    replay = shlex.join([*words, "--", *_CLIENT])
    left = {each.id: "not-in-level" for each in clauses(Role.CONSUMER) if each.level > Level.BRONZE}
    results, level = judge_clauses(clauses(Role.CONSUMER), History("input", 0.0), replay, left)
    part = Certificate(
        _KIT,
        {"command": _CLIENT, "files": {}},
        "consumer",
        "kinesis",
        7,
        level,
        results,
        count_verdicts(results),
        1.5,
        judge_levels(results),
        stages=dict.fromkeys(names, "It is played."),
        part_of=_PLAN,
    )
    return msgspec.structs.replace(part, **changes)


def _with(part: Certificate, clause: str, **changes: Any) -> Certificate:
    results = (
        msgspec.structs.replace(each, **changes) if each.id == clause else each for each in part.clauses
    )
    return msgspec.structs.replace(part, clauses=tuple(results))


def _merged(parts: Sequence[Certificate], clause: str) -> ClauseResult:
    merged = merge_parts({f"part-{number}": part for number, part in enumerate(parts)})
    return next(each for each in merged.clauses if each.id == clause)


def _both(clause: str, first: dict[str, Any], second: dict[str, Any]) -> ClauseResult:
    return _merged(
        [_with(_part(*_PLAN[:2]), clause, **first), _with(_part(*_PLAN[2:]), clause, **second)], clause
    )


def test_what_tries_a_clause_is_counted_over_all_parts() -> None:
    """Six messages here and six there are enough for ten, and the command is that of the whole run."""
    found = _both("nothing-lost", {"exposure": 6}, {"exposure": 6})
    assert (found.verdict, found.exposure, found.reason) == (ClauseVerdict.PASS, 12, None)
    assert found.replay == "sandbox certify consumer --seed 7 --level bronze -- ./client --stage x"
    few = _both("nothing-lost", {"exposure": 4}, {"exposure": 4, "reason": "needs-patience"})
    assert (few.verdict, few.reason) == (ClauseVerdict.NOT_EXERCISED, "needs-patience")


def test_a_failure_in_one_part_fails_the_whole() -> None:
    """The level goes with it. That the client ended comes first, and there is no more than of one run."""
    lost = tuple(Finding(f"m-{number} was never read", 1, {"at": 1.0}) for number in range(15))
    ended = Finding("the consumer ended by itself", 1, {"start": 2})
    first = _with(_part(*_PLAN[:2]), "nothing-lost", evidence=lost, exposure=15, verdict=ClauseVerdict.FAIL)
    second = _with(_part(*_PLAN[2:]), "nothing-lost", evidence=(ended, *lost), exposure=15)
    merged = merge_parts({"a": second, "b": first})
    assert (merged.failed, merged.level, merged.seconds) == (("nothing-lost",), None, 3.0)
    assert (merged.levels["bronze"], merged.counts["fail"]) == (ClauseVerdict.FAIL, 1)
    found = _merged([first, second], "nothing-lost").evidence
    assert (found[0], len(found)) == (ended, 21)
    assert list(merged.stages) == [*_PLAN]
    assert merged.part_of == ()


@pytest.mark.parametrize("reason", ["nothing-told", "judge-error: KeyError('x')"])
def test_what_one_part_could_not_see_is_not_made_up_for(reason: str) -> None:
    """Else a client that tells nothing after a kill would pass by what it told before."""
    found = _both("nothing-lost", {"exposure": 20, "reason": None}, {"exposure": 0, "reason": reason})
    assert (found.verdict, found.reason) == (ClauseVerdict.NOT_EXERCISED, reason)


def test_a_client_that_tells_nothing_at_first_is_told_so_alone() -> None:
    """One run ends there. Its short stages, in which too little came to notice it, accuse nobody."""
    silent = _with(_part(*_PLAN[:2]), "nothing-lost", reason="nothing-told")
    lost = Finding("m-1 was read and never reported", 1)
    short = _with(_part(*_PLAN[2:]), "nothing-lost", evidence=(lost,), exposure=1)
    found = _merged([silent, short], "nothing-lost")
    assert (found.verdict, found.reason) == (ClauseVerdict.NOT_EXERCISED, "nothing-told")


def test_a_way_of_working_that_no_part_saw_is_not_applicable() -> None:
    """Nor is it when another part had nothing to judge it by; where a part did see it, it counts."""
    never = {"reason": "feature-never-used", "verdict": ClauseVerdict.NOT_APPLICABLE}
    clause = "survives-expired-iterators"
    assert _both(clause, never, {"reason": "stimulus-never-landed"}).verdict is ClauseVerdict.NOT_APPLICABLE
    assert _both(clause, never, {"exposure": 2}).verdict is ClauseVerdict.PASS


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 8}, "the seed: 8, and 7"),
        ({"kit": _KIT | {"sandbox": "0.1.9"}}, "the sandbox: 0.1.9, and 0"),
        ({"kit": _KIT | {"version": 2}}, "the version of the clauses: 2, and 1"),
        ({"kit": _KIT | {"contract": "orders 1"}}, "the contract: orders 1, and rdss 4.0.0"),
        ({"subject": {"command": ["./other"], "files": {}}}, "the client: ./other, and ./client --stage x"),
        ({"subject": {"command": _CLIENT, "files": {"a": "1"}}}, "digests"),
        ({"role": "producer"}, "the role: producer, and consumer"),
        ({"channel": "rabbitmq"}, "the channel: rabbitmq, and kinesis"),
        ({"part_of": _PLAN[:3]}, "the stages of the whole run"),
    ],
)
def test_parts_of_different_runs_are_refused(changes: dict[str, Any], said: str) -> None:
    """Each by what is different, with both."""
    one, other = _part(*_PLAN[:2]), _part(*_PLAN[2:], **changes)
    with pytest.raises(PartsError, match="b and a are not of one run") as raised:
        merge_parts({"a": one, "b": other})
    assert said in str(raised.value)


def test_other_options_are_another_run() -> None:
    """Such as another patience, which only the command tells."""
    other = _part(*_PLAN[2:])
    results = tuple(
        msgspec.structs.replace(each, replay=each.replay.replace("--level", "--patience 60s --level"))
        for each in other.clauses
    )
    with pytest.raises(PartsError, match="the command without its stages"):
        merge_parts({"a": _part(*_PLAN[:2]), "b": msgspec.structs.replace(other, clauses=results)})


def test_a_missing_and_a_doubled_stage_are_named() -> None:
    """And so is what is no part at all."""
    with pytest.raises(PartsError, match="no part has the stage restart, distant duplicates"):
        merge_parts({"a": _part("duplicates"), "b": _part("delays")})
    with pytest.raises(PartsError, match="the stage delays is in a and in b"):
        merge_parts({"a": _part(*_PLAN[:2]), "b": _part(*_PLAN[1:])})
    with pytest.raises(PartsError, match="a is no part of a run"):
        merge_parts({"a": _part(*_PLAN, part_of=())})


def test_only_the_kits_own_options_are_left_out_of_the_command() -> None:
    """A client may have an option of the same name."""
    assert whole_command("x --stage 'a b' --seed 1 -- y") == "x --seed 1 -- y"
    assert whole_command("x --stage a -- y --stage b") == "x -- y --stage b"


def test_the_command_refuses_in_a_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With the exit code of usage, and no traceback."""
    for name, stage in (("a", "duplicates"), ("b", "delays")):
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE).write_bytes(msgspec.json.encode(_part(stage)))
    assert main(["certify", "merge", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert "no part has the stage restart, distant duplicates" in capfd.readouterr().err
    assert main(["certify", "merge", str(tmp_path / "a"), str(tmp_path / "nowhere")]) == 2
    assert "is no certificate of this version" in capfd.readouterr().err


def _certify(folder: Path, client: Path, options: Sequence[str]) -> int:
    command = [sys.executable, "-m", "sandbox", "certify", "consumer", "--seed", "7", "--no-shrink", *options]
    command += ["--to", str(folder), "--", sys.executable, str(client)]
    return subprocess.run(command, capture_output=True, check=False, timeout=240).returncode


def _read(folder: Path) -> dict[str, Any]:
    """A certificate without what no two runs have in common: times, and the client's own reads."""
    found: dict[str, Any] = json.loads((folder / FILE).read_bytes())
    assert found.pop("seconds") > 0
    for clause in found["clauses"]:
        if clause["id"] in _OF_THE_CLIENTS_OWN:
            assert clause.pop("exposure") >= clause["needed"]
        for finding in clause["evidence"]:
            finding["said"] = _MOMENT.sub("0 s", finding["said"])
            finding["facts"].pop("at", None)
    return found


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("level", "breaks"), [("silver", False), ("bronze", True)])
def test_stages_in_parallel_give_the_certificate_of_one_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], level: str, *, breaks: bool
) -> None:
    """Of a right client and of one that remembers nothing: the same JSON, the same exit code."""
    text = (CLIENTS / "right_consumer.py").read_text(encoding="utf-8")
    client = tmp_path / "client.py"
    client.write_text(text.replace('if message_id not in state["ids"]', "if True") if breaks else text)
    stages = [each.name for each in CONSUMER if each.level <= Level[level.upper()]]
    options = ("--level", level, "--group", "delivery")
    with ThreadPoolExecutor(3) as pool:
        code = pool.submit(_certify, tmp_path / "whole", client, options)
        parts = [
            pool.submit(_certify, tmp_path / name, client, (*options, "--stage", name)) for name in stages
        ]
    assert {each.result() for each in parts} == ({1, 4} if breaks else {4})
    folders = [str(tmp_path / name) for name in reversed(stages)]
    assert main(["certify", "merge", *folders, "--to", str(tmp_path / "merged")]) == code.result() == breaks
    assert f"level {'none' if breaks else 'silver'}" in capfd.readouterr().out
    assert _read(tmp_path / "merged") == _read(tmp_path / "whole")
    written = {each.name for each in (tmp_path / "merged").iterdir()}
    assert written == {FILE, "certificate.html", "junit.xml", "badge.svg"}
