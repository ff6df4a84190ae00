"""The packages in ``examples/``, each installed by pip, do what they are for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.packaging.environment import ROOT, Environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("extended")]

_STRIKES = """
from datetime import UTC, datetime, timedelta

import boto3


def test_it_strikes(sandbox):
    sandbox.faults.add("clock_skew", skew=-3600)
    sandbox.send({"messageHeader": {"messageId": "m-1"}})
    kinesis = boto3.client("kinesis")
    shard = kinesis.list_shards(StreamName="input")["Shards"][0]["ShardId"]
    at = kinesis.get_shard_iterator(StreamName="input", ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    (record,) = kinesis.get_records(ShardIterator=at["ShardIterator"])["Records"]
    age = datetime.now(UTC) - record["ApproximateArrivalTimestamp"]
    assert timedelta(minutes=59) < age < timedelta(minutes=61)
"""


def test_the_fault_is_one_of_the_faults(extended: Environment, tmp_path: Path) -> None:
    """The command has it with its attributes, and it strikes in a suite of somebody's, as any of ours."""
    said = extended.run("sandbox", "fault", "add", "clock_skew", "--help", cwd=tmp_path)
    assert "--skew" in said
    assert "--drift" in said
    (tmp_path / "test_mine.py").write_text(_STRIKES)
    assert "1 passed" in extended.run("python", "-m", "pytest", "-q", "-p", "no:randomly", cwd=tmp_path)


_ONE_BY_ONE = """
import boto3

kinesis = boto3.client("kinesis")
for number in range(60):
    kinesis.put_record(StreamName="input", Data=f"{number}".encode(), PartitionKey=f"{number}")
"""
_IN_BATCHES = """
import boto3

kinesis = boto3.client("kinesis")
for batch in range(6):
    records = [{"Data": f"{batch}-{n}".encode(), "PartitionKey": f"{n}"} for n in range(10)]
    kinesis.put_records(StreamName="input", Records=records)
"""


@pytest.mark.parametrize(("client", "wrong"), [(_ONE_BY_ONE, True), (_IN_BATCHES, False)])
def test_the_rule_finds_who_puts_one_by_one(
    extended: Environment, tmp_path: Path, client: str, wrong: bool
) -> None:
    """In what ``diagnose`` says of clients, and not who puts as many in batches."""
    (tmp_path / "client.py").write_text(client)
    steps = "python client.py && sandbox diagnose --json --rules > found.json; test $? -lt 2"
    extended.run("sandbox", "run", "--", "sh", "-c", steps, cwd=tmp_path)
    assert "puts-one-by-one" in (tmp_path / "found.json").read_text()
    findings = json.loads((tmp_path / "found.json").read_text())["findings"]
    assert ("puts-one-by-one" in {each["rule"] for each in findings}) is wrong


@pytest.mark.parametrize(("client", "verdict"), [("single_producer", "fail"), ("right_producer", "pass")])
def test_the_clause_fails_who_puts_one_by_one(
    extended: Environment, tmp_path: Path, client: str, verdict: str
) -> None:
    """Both producers are right by every clause of ours, and one of them is not by theirs."""
    program = ROOT / "tests" / "sandbox" / "certify" / "clients" / f"{client}.py"
    how = ("--level", "bronze", "--group", "delivery", "--no-shrink", "--seed", "7", "--json")
    ran = extended.start("sandbox", "certify", "producer", *how, "--", "python", program, cwd=tmp_path)
    found = {each["id"]: each["verdict"] for each in json.loads(ran.stdout)["clauses"]}
    assert found["puts-in-batches"] == verdict
    assert [name for name, each in found.items() if each == "fail"] == ["puts-in-batches"][
        : verdict == "fail"
    ]


_GATEWAY = """
import json
from contextlib import closing
from pathlib import Path

import boto3

from emulator.clock import Clock
from sandbox.gateway import read_gateway_settings
from sandbox.gateway.metadata import open_queues

settings = read_gateway_settings(
    {"SANDBOX_GATEWAY_QUEUE": "sqs", "SANDBOX_GATEWAY_ADDRESS": boto3.client("sqs").meta.endpoint_url}
)
with closing(open_queues(settings, Clock())) as queues:
    with closing(queues.channel("input")) as channel:
        receipts = [channel.publish(b'{"n": %d}' % n, f"k-{n}") for n in range(3)]
        refused = channel.publish_many([(b"\\xff", "k")])
        found = channel.read()
        channel.commit(found[1])
    with closing(queues.channel("input")) as again:
        left = again.read()
print(json.dumps({
    "read": [(each.data.decode(), each.key) for each in found],
    "numbers": [each.sequence_number for each in found] == [each.sequence_number for each in receipts],
    "refused": refused[0].code,
    "left": [(each.data.decode(), each.redelivered) for each in left],
}))
"""


def test_the_gateway_has_the_channel(extended: Environment, tmp_path: Path) -> None:
    """A queue of the sandbox's own SQS: what was not committed comes again, as the channel's kind has it."""
    (tmp_path / "gateway.py").write_text(_GATEWAY)
    said = json.loads(
        extended.run("sandbox", "run", "--", "python", "gateway.py", cwd=tmp_path).splitlines()[-1]
    )
    assert sorted(said["read"]) == [[f'{{"n": {n}}}', f"k-{n}"] for n in range(3)]
    assert said["numbers"]
    assert said["refused"] == "InvalidMessageContents"
    assert said["left"] == [[said["read"][2][0], True]]


@pytest.mark.parametrize("name", ["producer-retry", "redelivery-after-a-crash", "answer-lost", "oversize"])
def test_a_scenario_is_played_over_the_channel(extended: Environment, tmp_path: Path, name: str) -> None:
    """Over the queues of an SQS of its own, with the scenario's faults on them."""
    said = extended.run(
        *("sandbox", "scenario", "run", name, "--channel", "sqs", "--seed", "7", "--json"), cwd=tmp_path
    )
    (played,) = json.loads(said)["scenarios"]
    assert (played["verdict"], played["channel"]) == ("pass", "sqs")
    assert played["command"] == f"sandbox scenario run {name} --seed 7 --channel sqs"


_COMMANDS = """
sandbox message sample --count 3 --seed 7 | sandbox send --kind sqs - >/dev/null
echo '{"messageHeader": {"messageId": "bad"}}' | sandbox send --kind sqs - >/dev/null
sandbox receive --kind sqs --count 3 --timeout 30s --json >good
sandbox receive --kind sqs 2>told
sandbox receive --kind sqs --channel invalid --json >bad
"""


def test_the_commands_send_and_receive_over_the_channel(extended: Environment, tmp_path: Path) -> None:
    """Each message comes once, and what is bad is in the invalid queue, which is one of SQS too."""
    (tmp_path / "commands.sh").write_text(_COMMANDS)
    extended.run("sandbox", "run", "--", "sh", "-e", "commands.sh", cwd=tmp_path)
    good, bad = ((tmp_path / name).read_text().splitlines() for name in ("good", "bad"))
    assert len({json.loads(each)["messageHeader"]["messageId"] for each in good}) == len(good) == 3
    assert [json.loads(each)["messageHeader"]["messageId"] for each in bad] == ["bad"]
    assert "1 rejected: 1 in invalid" in (tmp_path / "told").read_text()


def test_what_the_kind_does_not_say_how_to_do_is_refused(extended: Environment, tmp_path: Path) -> None:
    """In a sentence: before anything is started, with the kinds that do; for a fault, in the verdict."""
    sqs = ("--channel", "sqs")
    certified = extended.start("sandbox", "certify", "producer", *sqs, "--", "true", cwd=tmp_path)
    assert certified.returncode == 2
    assert "'sqs' is not one of kinesis, rabbitmq: its kind does not say how its" in certified.stderr
    split = extended.start("sandbox", "scenario", "run", "split-under-load", *sqs, cwd=tmp_path)
    assert split.returncode == 4
    assert "reshard means nothing on 'sqs:input', which is sqs" in split.stdout
