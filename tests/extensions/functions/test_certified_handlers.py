"""``sandbox certify handler``: what its lab does and writes down, the clauses, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from extensions.functions.verdict.deployment import QUEUE, STREAM, Deployment
from extensions.functions.verdict.handler_attempt import HandlerAttempt
from extensions.functions.verdict.handler_lab import LITTLE_TIME, LOST_ANSWER, STANDSTILL, HandlerLab
from extensions.functions.verdict.queue_handler_lab import QueueHandlerLab
from extensions.functions.verdict.source_messages import are_named_by_content, explain_unqueued
from extensions.functions.watched_function import read_handler
from rdss_sandbox.shapes.certificate import ClauseVerdict
from rdss_sandbox.shapes.trace import Delivery, Disposition, Read, Settlement
from sandbox.certify.attempt import Client
from sandbox.certify.clause import Role
from sandbox.certify.clause_verdicts import judge_clauses
from sandbox.certify.clauses import clauses
from sandbox.certify.history import FinalShard, History, Injected, Level, Life, OfferedMessage, Statement
from sandbox.certify.kit_messages import KitMessages
from sandbox.certify.stages import Stage
from sandbox.certify.told_lines import json_lines
from schemas.bound import CONTRACT
from tests.extensions.functions.certified_functions import SHAPES
from tests.parcels import PARCELS
from tests.sandbox.certify.population.kind import Shape, build_trial
from tests.sandbox.certify.population.rights import first_of_each
from tests.sandbox.certify.trials import judge_all, play_stages
from tests.sandbox.cli.conftest import Ran, elsewhere, sandbox

__all__ = ["elsewhere", "sandbox"]

TELLS = """
import base64, json, time

def handler(event, context):
    for record in event["Records"]:
        data = base64.b64decode(record["kinesis"]["data"]) if "kinesis" in record else record["body"]
        print(json.dumps({"processed": json.loads(data)["messageHeader"]["messageId"]}))
"""


@contextmanager
def _deployed(
    folder: Path, source: str, channel: str = STREAM, **settings: object
) -> Iterator[tuple[HandlerAttempt, HandlerLab]]:
    """A handler that reads what its lab puts."""
    program = folder / "tells.py"
    program.write_text(source, encoding="utf-8")
    found = read_handler(f"{program}:handler")
    deployment = Deployment(found, channel, timeout=1)._replace(**settings)
    lab = (QueueHandlerLab if channel == QUEUE else HandlerLab)(deployment, 1, CONTRACT)
    client = Client((f"{program}:handler",), json_lines("processed"), 8.0)
    with lab.running(), HandlerAttempt(client, lab, folder) as attempt:
        attempt.enter(Stage("duplicates", Level.BRONZE, clauses(Role.CONSUMER)[0].group, "nothing-lost", 1))
        attempt.start()
        yield attempt, lab


def _put(lab: HandlerLab, count: int) -> list[str]:
    made = KitMessages(CONTRACT, lab.seed)
    messages = [made.good() for _ in range(count)]
    lab.put(messages)
    return [each.key for each in messages]


@pytest.mark.parametrize("channel", [STREAM, QUEUE])
def test_what_is_handed_over_told_and_answered_is_written_down(tmp_path: Path, channel: str) -> None:
    """Each message with its delivery, the line about it, and the answer about it, in this order."""
    with _deployed(tmp_path, TELLS, channel) as (attempt, lab):
        ids = _put(lab, 3)
        assert attempt.wait(lambda: len(lab.history.settlements()) == 3)
        history = lab.history
        assert sorted(history.times_told()) == sorted(ids)
        assert {each.message_id for read in history.reads() for each in read.records} == {*ids}
        for told in history.told:
            done = next(
                each for each in history.settlements() if each.records[0].message_id == told.message_id
            )
            assert told.at <= done.at
            assert done.disposition is Disposition.ACK
        assert not lab.owes()


def test_a_lost_answer_has_the_batch_handed_over_again(tmp_path: Path) -> None:
    """What was told is reported again by a handler without a memory, after a pause that passes at once."""
    with _deployed(tmp_path, TELLS) as (attempt, lab):
        lab.strike_next(LOST_ANSWER)
        (message,) = _put(lab, 1)
        assert attempt.wait(lambda: not lab.owes() and lab.history.times_told()[message] == 2)


@pytest.mark.parametrize(("what", "ends"), [(STANDSTILL, ["timed out", ""]), (LITTLE_TIME, [""])])
def test_a_process_stands_still(tmp_path: Path, what: str, ends: list[str]) -> None:
    """To its time-out, which begins another start, or until there is little time left, enough here."""
    with _deployed(tmp_path, TELLS) as (attempt, lab):
        _put(lab, 1)
        assert attempt.wait(lambda: not lab.owes())
        lab.strike_next(what)
        ids = _put(lab, 2)[1:]
        assert attempt.wait(lambda: not lab.owes() and {*ids} <= lab.history.times_told().keys())
        assert [life.end for life in lab.history.lives] == ends
        assert {each.type for each in lab.history.injected} == {what}


def test_what_a_killed_process_told_is_heard_before_the_next_start(tmp_path: Path) -> None:
    """So that a line that comes again is known to come of the death."""
    slow = TELLS.replace('messageId"]}))', 'messageId"]}))\n        time.sleep(0.5)')
    with _deployed(tmp_path, slow) as (attempt, lab):
        _put(lab, 1)
        assert attempt.wait(lambda: bool(lab.history.told))
        attempt.kill()
        assert attempt.wait(lambda: not lab.owes())
        assert [each.end for each in lab.history.lives] == ["SIGKILL", ""]
        assert [each.life for each in lab.history.told] == [0, 1]


@pytest.mark.parametrize("channel", [STREAM, QUEUE])
def test_what_is_put_while_a_batch_is_held_up_comes_in_one(tmp_path: Path, channel: str) -> None:
    """Poison and its neighbours are handed over together, and given up together by a handler that raises."""
    with _deployed(tmp_path, TELLS, channel, retries=0) as (attempt, lab):
        maker = KitMessages(CONTRACT, 2)

        def send_to(place: str) -> None:
            made = next(each for each in iter(maker.good, None) if lab.shard_of(each.key) == place)
            lab.put([made])

        with lab.gathering(send_to):
            place = lab.shard_of("unreadable")
            send_to(place)
            lab.put_poison(b"no message, 1")
            send_to(place)
        assert attempt.wait(lambda: not lab.owes())
        (poison,) = lab.history.poison
        (batch,) = (
            each for each in lab.history.reads() if poison in {one.sequence_number for one in each.records}
        )
        assert [each.message_id is None for each in batch.records] == [False, True, False]
        assert not lab.keeps_poison()
        given_up = [each for each in lab.history.settlements() if each.disposition is Disposition.DISCARD]
        assert {each.records[0] for each in given_up} == {*batch.records}


def test_poison_that_was_put_on_a_queue_is_found(tmp_path: Path) -> None:
    """A handler may put what it cannot process where it likes, and answer success."""
    source = """
import boto3

sqs = boto3.client("sqs")
url = sqs.create_queue(QueueName="bad")["QueueUrl"]

def handler(event, context):
    sqs.send_message(QueueUrl=url, MessageBody=event["Records"][0]["body"])
"""
    with _deployed(tmp_path, source, QUEUE, timeout=20) as (attempt, lab):
        lab.put_poison(b"no message, 1")
        assert attempt.wait(lambda: not lab.owes())
        assert [each.stream for each in lab.history.puts_elsewhere()] == ["bad"]


# The clauses


def _history() -> History:
    """Twelve messages of one batch with two of poison, which were told and answered."""
    history = History("input", 0.0)
    ids = [f"m-{number}" for number in range(12)]
    history.sent = [OfferedMessage(each, "", Level.SILVER, 0.0) for each in ids]
    history.stages = [(0.0, "poison", Level.SILVER)]
    history.lives = [Life(0, 0.0)]
    history.told = [Statement(each, 1.1, 0) for each in ids]
    history.poison = ["p-1", "p-2"]
    history.ordered = [tuple(ids)]
    history.shards = [FinalShard("s", (), tuple((each, each) for each in ids))]
    good = tuple(Delivery(each, each) for each in ids)
    bad = tuple(Delivery(each, None) for each in history.poison)
    history.injected = [
        Injected(at, what, "m-1", Level.SILVER) for at, what in ((1.0, STANDSTILL), (1.0, LITTLE_TIME))
    ]
    history.exchanges = [
        Read(1.0, 0, "input", "s", records=(*good, *bad), pushed=True, owed=True),
        *(Settlement(2.0, 0, "input", Disposition.ACK, (each,)) for each in good),
        *(Settlement(3.0, 0, "input", Disposition.DISCARD, (each,)) for each in bad),
    ]
    return history


def _judge(history: History, name: str) -> tuple[ClauseVerdict, list[str]]:
    wanted = [each for each in clauses(Role.CONSUMER, channel=STREAM) if each.id == name]
    (result,), _ = judge_clauses(wanted, history, "again")
    return result.verdict, [each.said for each in result.evidence]


def _tell_later(history: History) -> None:
    history.told[3] = Statement("m-3", 9.0, 0)


def _answer_poison(history: History) -> None:
    history.exchanges[-1] = Settlement(3.0, 0, "input", Disposition.ACK, (Delivery("p-2", None),))


def _give_up_more(history: History) -> None:
    history.exchanges.append(Settlement(3.0, 0, "input", Disposition.DISCARD, (Delivery("m-4", "m-4"),)))


def _lose_one(history: History) -> None:
    del history.told[1]


def _tell_twice(history: History) -> None:
    history.told.append(Statement("m-1", 5.0, 0))


def _swap(history: History) -> None:
    history.told[5], history.told[6] = history.told[6], history.told[5]


@pytest.mark.parametrize(
    ("clause", "change", "said"),
    [
        ("answers-after-the-effect", _tell_later, "m-3 was acknowledged at 2.000 s and reported at 9.000 s"),
        ("reports-poison", _answer_poison, "p-2 was acknowledged and put nowhere"),
        (
            "gives-up-poison-alone",
            _give_up_more,
            "m-4 was given up with its batch, although it was processed",
        ),
        ("survives-time-outs", _lose_one, "1 of 1 messages were lost when the process stood still"),
        (
            "survives-time-outs",
            _tell_twice,
            "1 of 1 messages were reported again when the process stood still",
        ),
        ("keeps-the-order", _swap, "m-6 was reported before m-5, which came before it under the same key"),
    ],
)
def test_a_breach_is_told(clause: str, change: Callable[[History], None], said: str) -> None:
    """A right history passes, and one change makes it fail with a sentence about it."""
    assert _judge(_history(), clause) == (ClauseVerdict.PASS, [])
    history = _history()
    change(history)
    verdict, sentences = _judge(history, clause)
    assert verdict is ClauseVerdict.FAIL
    assert said in sentences[0]


def test_in_batches_of_one_message_nothing_shares_a_fate() -> None:
    """The clause about it is not applicable, and bars no level."""
    history = _history()
    history.exchanges = [Read(1.0, 0, "input", "s", records=(Delivery("p-1", None),), pushed=True, owed=True)]
    assert _judge(history, "gives-up-poison-alone")[0] is ClauseVerdict.NOT_APPLICABLE


def test_only_messages_that_name_themselves_are_put_under_one_key() -> None:
    """Parcels are named by their partition key: no queue carries them, and nobody asks for their order."""
    assert are_named_by_content(CONTRACT)
    assert explain_unqueued(CONTRACT) is None
    assert not are_named_by_content(PARCELS)
    assert "partition key" in str(explain_unqueued(PARCELS))
    asked = {each.id for each in clauses(Role.CONSUMER, channel=STREAM, contract=PARCELS)}
    assert ("keeps-the-order" in asked, "reports-poison" in asked) == (False, True)


# The command


def test_the_command_tells_what_it_found_and_how_to_repeat_it(sandbox: Callable[..., Ran]) -> None:
    """A handler without a memory fails the clause about that, on a certificate of a handler."""
    Path("tells.py").write_text(TELLS, encoding="utf-8")
    words = ("certify", "handler", "tells.py:handler", "--bisect", "--seed", "3", "--level", "bronze")
    ran = sandbox(*words, "--stage", "duplicates", "--no-shrink", "--json", "--to", "out")
    certificate = json.loads(ran.out)
    found = {each["id"]: each for each in certificate["clauses"]}
    assert (ran.code, certificate["role"], certificate["channel"]) == (1, "handler", STREAM)
    assert found["nothing-twice"]["verdict"] == "fail"
    assert found["nothing-lost"]["replay"] == (
        "sandbox certify handler --seed 3 --level bronze --stage duplicates --bisect -- tells.py:handler"
    )
    assert "Some messages are sent twice" in Path("out/certificate.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("tells.py",), 2, "tells.py is no FILE:FUNCTION"),
        (("gone.py:handler",), 2, "there is no file gone.py"),
        (("tells.py:handler", "--event-source", "sqs", "--bisect"), 2, "--bisect is for a stream"),
        (("tells.py:handler", "--stage", "split"), 2, "there is no stage 'split' here"),
        (("tells.py:handler", "--env", "x"), 2, "x is no NAME=VALUE"),
        (("tells.py:other",), 3, "tells.py:other cannot be loaded: Runtime.HandlerNotFound"),
    ],
)
def test_a_handler_that_cannot_be_tried_is_named(
    sandbox: Callable[..., Ran], words: tuple[str, ...], code: int, said: str
) -> None:
    """By the exit codes of every certificate, in one line, with nothing on standard output."""
    Path("tells.py").write_text(TELLS, encoding="utf-8")
    ran = sandbox("certify", "handler", *words)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_a_handler_that_always_fails_passes_nothing_and_its_error_is_told(
    sandbox: Callable[..., Ran],
) -> None:
    """The remark names the error, and how often it came."""
    Path("fails.py").write_text("def handler(event, context):\n    raise KeyError('header')\n")
    ran = sandbox("certify", "handler", "fails.py:handler", "--level", "bronze", "--stage", "duplicates")
    assert ran.code == 4
    assert "times: KeyError: 'header'" in ran.out


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("shape", first_of_each(SHAPES))
def test_a_right_handler_is_accused_of_nothing_where_batches_matter(shape: Shape) -> None:
    """In the stages that only handlers have."""
    trial = build_trial(shape, shape.program, seed=3)
    history = play_stages(trial, ("duplicates", "poison", "time-outs", "order"))
    failed = {
        name: each.evidence for name, each in judge_all(trial, history).items() if each.verdict == "fail"
    }
    assert failed == {}
