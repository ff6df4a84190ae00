"""Replaying a tape: it comes as it came, under any faults, and the same way each time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pika
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.channels.kinesis import KinesisChannel, connect
from emulator.clock import Clock
from emulator.listeners.control.watch.event_digest import EventDigest
from emulator.settings.settings import Settings
from extensions.tape.tape_format import FORMAT
from extensions.tape.tape_writer import TapeWriter
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.replays import ReplayPosition
from rdss_sandbox.shapes.tape import (
    TapedChannel,
    TapedMessage,
    TapedRefusal,
    TapedShard,
    TapeEntry,
    TapeMark,
)
from rdss_sandbox.text.event_sentences import sentence
from sandbox.certify.kit_messages import KitMessages, read_recorded
from sandbox.cli import main
from schemas.rdss.contract import RDSS
from tests.waiting import wait_until

START: Final = 1_790_000_000.0
HALF: Final = 2**127
LAST: Final = 2**128 - 1


@pytest.fixture
def clock() -> Clock:
    return Clock(frozen_at=START + 1_000_000)


@pytest.fixture
def emulator(clock: Clock) -> Iterator[Embedded]:
    settings = Settings(aws_port=0, control_port=0, data_dir=None, amqp="none", seed=7)
    with embedded(settings, clock) as found:
        yield found


def make_messages(count: int, every: float = 1.0, channel: str = "yesterday") -> list[TapedMessage]:
    made = RDSS.samples.from_seed(3, now=START).stream(count)
    return [
        TapedMessage(START + at * every, channel, each.data, len(each.data), each.key, "s0")
        for at, each in enumerate(made)
    ]


def shards(at: float, *firsts: int, channel: str = "yesterday") -> TapedChannel:
    ends = [*(first - 1 for first in firsts[1:]), LAST]
    ranges = zip(firsts, ends, strict=True)
    taped = tuple(TapedShard(f"s{first}", str(first), str(last)) for first, last in ranges)
    return TapedChannel(at, channel, "kinesis", taped)


def write(path: Path, entries: list[TapeEntry]) -> str:
    with TapeWriter(path, TapeMark(FORMAT, "1", START)) as tape:
        for each in sorted(entries, key=lambda each: each.at):
            tape.add(each)
    return str(path)


def read(emulator: Embedded, stream: str = "yesterday") -> list[tuple[bytes, float]]:
    """The records of a stream with the time at which each came, as a consumer gets them."""
    with closing(KinesisChannel(connect(emulator.aws), stream, clock=Clock())) as channel:
        found: list[tuple[bytes, float]] = []
        while some := channel.read(limit=10_000):
            found += [(each.data, each.arrived) for each in some]
        return sorted(found, key=lambda each: each[1])


def replay(emulator: Embedded, *arguments: str) -> int:
    return main(["replay-tape", *arguments, "--control", emulator.control])


def replaying(emulator: Embedded, *arguments: str) -> Callable[[], int]:
    """Begin to replay; what is returned waits for the end, and for the exit code."""
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(replay(emulator, *arguments)))
    thread.start()

    def wait() -> int:
        thread.join()
        return codes[0]

    return wait


def test_messages_come_with_their_own_spacing_on_the_clock_of_the_sandbox(
    emulator: Embedded, clock: Clock, tmp_path: Path
) -> None:
    """While it stands still none comes; when it is advanced, those that are due."""
    messages = make_messages(5, every=600, channel="input")
    done = replaying(emulator, write(tmp_path / "a.tape", [*messages]))
    with Client(emulator.control) as client:
        for number in range(5):
            wait_until(lambda number=number: client.stream("input").records == number + 1)
            client.change_clock(ClockChange("advance", seconds=600))
    assert done() == 0
    found = read(emulator, "input")
    assert [data for data, _ in found] == [each.body for each in messages]
    times = [at - found[0][1] for _, at in found]
    assert times == pytest.approx([0, 600, 1200, 1800, 2400], abs=1)


def test_the_clock_runs_as_fast_as_it_is_asked_to(
    emulator: Embedded, clock: Clock, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A minute takes a real second, and the spacing is as it was; then its speed is as before."""
    path = write(tmp_path / "a.tape", make_messages(31, every=2))
    assert replay(emulator, path, "--speed", "60", "--json") == 0
    assert 0.9 < json.loads(capfd.readouterr().out)["seconds"] < 30
    found = read(emulator)
    assert found[-1][1] - found[0][1] == pytest.approx(60, abs=20)
    assert clock.state().speed == 0


def test_shards_split_and_merge_when_they_did(emulator: Embedded, tmp_path: Path) -> None:
    """And each message is in the shard in which it was, also if its key would lead to another one."""
    third = LAST // 3
    messages = make_messages(40)
    placed = [
        TapedMessage(each.at, each.channel, each.body, each.size, "the same key", shard)
        for each, shard in zip(
            messages, [*["s0"] * 10, *["s0", f"s{third}"] * 5, *[f"s{HALF}"] * 10, *["s0"] * 10], strict=True
        )
    ]
    layouts = [
        shards(START, 0),
        shards(START + 9.5, 0, third),
        shards(START + 19.5, 0, HALF),
        shards(START + 29.5, 0),
    ]
    assert replay(emulator, write(tmp_path / "a.tape", [*layouts, *placed]), "--speed", "max") == 0
    with Client(emulator.control) as client:
        ranges = [(int(each.starting_hash_key), each.records) for each in client.stream("yesterday").shards]
        assert sum(records for _, records in ranges) == 40
        # One of 10, its children with 5 each, the shard from the half on with 10, and one again with 10.
        assert sorted(records for _, records in ranges if records) == [5, 5, 10, 10, 10]
        assert (HALF, 10) in ranges
        assert sum(each.open for each in client.stream("yesterday").shards) == 1


def test_what_was_refused_is_refused_again(
    emulator: Embedded, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A put, of which the replay tries the rest again, and a read of whoever reads then."""
    throttled = "ProvisionedThroughputExceededException"
    entries: list[TapeEntry] = [
        *make_messages(10),
        TapedRefusal(START + 4.5, "yesterday", "PutRecords", throttled, records=2, of=5),
        TapedRefusal(START + 6.5, "yesterday", "PutRecord", "InternalFailure", records=1, of=1),
        TapedRefusal(START + 9.5, "yesterday", "GetRecords", throttled),
    ]
    client = connect(emulator.aws)
    path = write(tmp_path / "a.tape", entries)
    assert replay(emulator, path, "--speed", "max", "--json") == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["messages"], told["refusals"], told["lost"]) == (10, 3, 0)
    assert told["repeated"] >= 3
    assert sorted(data for data, _ in read(emulator)) == sorted(each.body for each in make_messages(10))
    client.close()


def test_faults_strike_the_same_messages_each_time(tmp_path: Path) -> None:
    """Whatever else the machine does: the tape and the seed say which."""
    path = write(tmp_path / "a.tape", make_messages(300, every=0.01))
    faults = [
        NewFault("duplicate", channel="kinesis:yesterday", toxicity=0.1),
        NewFault("partial_failure", channel="kinesis:yesterday", toxicity=0.1),
        NewFault("reorder", channel="kinesis:yesterday", toxicity=0.1),
    ]
    runs = []
    for _ in range(2):
        settings = Settings(aws_port=0, control_port=0, data_dir=None, amqp="none", seed=11)
        with embedded(settings) as emulator, Client(emulator.control) as client:
            for fault in faults:
                client.add_fault(fault)
            assert replay(emulator, path, "--speed", "60") == 0
            with closing(KinesisChannel(connect(emulator.aws), "yesterday", clock=Clock())) as channel:
                runs.append([each.data for each in channel.read(limit=10_000)])
    assert runs[0] == runs[1]
    assert len(runs[0]) > 300


def test_an_excerpt_goes_into_another_channel(emulator: Embedded, tmp_path: Path) -> None:
    """From a time, up to another one; the shards are those that there were then."""
    messages = make_messages(20)
    path = write(tmp_path / "a.tape", [shards(START, 0, HALF), *messages])
    assert replay(
        emulator, path, "--speed", "max", "--into", "input",
        "--from", str(START + 5), "--to", str(START + 15),
    ) == 0  # fmt: skip
    assert sorted(data for data, _ in read(emulator, "input")) == sorted(each.body for each in messages[5:15])


def test_a_tape_is_repeated_for_load(emulator: Embedded, tmp_path: Path) -> None:
    """Until there were so many messages."""
    path = write(tmp_path / "a.tape", make_messages(20))
    assert replay(emulator, path, "--speed", "max", "--loop", "--count", "50") == 0
    assert len(read(emulator)) == 50


def test_bodies_that_were_not_kept_have_their_size(emulator: Embedded, tmp_path: Path) -> None:
    """What was a message is a valid one of its type, and the same one for the same id."""
    header = {"id": "m-1", "type": "MetadataDelete"}
    entries: list[TapeEntry] = [
        TapedMessage(START, "yesterday", None, 3_000, "k", "s0", header=header),
        TapedMessage(START + 1, "yesterday", None, 3_000, "k", "s0", header=header),
        TapedMessage(START + 2, "yesterday", None, 70, "k", "s0"),
    ]
    assert replay(emulator, write(tmp_path / "a.tape", entries), "--speed", "max") == 0
    one, again, other = (data for data, _ in read(emulator))
    assert one == again
    assert RDSS.judge(one).valid
    assert RDSS.peek(one).message_type == "MetadataDelete"
    assert (len(one), len(other)) == (3_000, 70)
    assert RDSS.judge(other).code == "GENERR007"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.tape"], "none.tape cannot be read: No such file"),
        (["text.tape"], "text.tape is no tape"),
        (["a.tape", "--speed", "fast"], "'fast' is no speed: give a number such as 60, or max"),
        (["a.tape", "--speed", "0"], "'0' is no speed"),
        (["a.tape", "--from", "noon"], "noon"),
    ],
)
def test_what_cannot_be_replayed_gets_a_sentence(
    arguments: list[str], says: str, emulator: Embedded, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """And nothing is put."""
    write(tmp_path / "a.tape", make_messages(1))
    (tmp_path / "text.tape").write_text("hello")
    assert replay(emulator, str(tmp_path / arguments[0]), *arguments[1:]) == 2
    assert says in capfd.readouterr().err


SCENARIO: Final = """
name: yesterday
title: Yesterday again
teach: {happens: What was recorded., why: It happened., client: Processes it.}
workload: {tape: day.tape, every: 1m}
faults: [{type: duplicate, channel: input, toxicity: 0.2}]
expect: {offered: 30, processed: 29, repeats: 1, took: ">1500"}
"""


def test_a_scenario_takes_a_tape_as_its_workload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With its spacing, and with what came twice on it."""
    monkeypatch.chdir(tmp_path)
    messages = make_messages(29, every=60)
    again = TapedMessage(START + 28 * 60, "yesterday", messages[3].body, messages[3].size, messages[3].key)
    write(tmp_path / "day.tape", [*messages, again])
    (tmp_path / "day.yaml").write_text(SCENARIO)
    code = main(["scenario", "run", "day.yaml", "--seed", "3"])
    assert code == 0, capfd.readouterr()
    (tmp_path / "day.tape").unlink()
    assert main(["scenario", "run", "day.yaml"]) == 2
    assert "workload/tape" in capfd.readouterr().err


def test_a_certificate_begins_with_the_messages_of_a_tape(tmp_path: Path) -> None:
    """Those that are valid, each once; then the kit makes more, as without a tape."""
    messages = make_messages(10)
    bad = TapedMessage(START, "yesterday", b"{", 1, "k")
    path = write(tmp_path / "day.tape", [bad, *messages, *messages[:3]])
    recorded = tuple(read_recorded(Path(path), RDSS))
    kit = KitMessages(RDSS, 7, recorded)
    assert [kit.good().data for _ in range(10)] == [each.body for each in messages]
    assert kit.good().key == KitMessages(RDSS, 7).good().key


def test_who_watches_sees_how_far_a_replay_is(emulator: Embedded, tmp_path: Path) -> None:
    """In the events, as the screens tell them, and in one line of the page, with its last position."""
    path = write(tmp_path / "day.tape", make_messages(20, every=60))
    assert replay(emulator, path, "--speed", "max") == 0
    events = emulator.components.events
    moved = [each for each in events.since(0, events.last) if each.kind == "replay.moved"]
    assert len(moved) > 1
    assert sentence(moved[-1], {}) == (
        "the replay of day.tape has ended at 2026-09-21 14:32:20.000 UTC, 100 % of it, after 20 messages"
    )
    digest = EventDigest(events, {})
    digest.read_on()
    said = [line.said for line in digest.news if "day.tape" in line.said]
    assert said == [sentence(moved[-1], {})]


@pytest.mark.parametrize("at", [1e300, -1.0])
def test_a_position_that_no_clock_has_is_refused(emulator: Embedded, at: float) -> None:
    """Who watches would be told of it, and get no picture any more."""
    with Client(emulator.control) as control:
        with pytest.raises(RefusedError, match="at"):
            control.replays.tell(ReplayPosition("day.tape", at, 0.0, 1.0, 1))
        assert control.picture().streams


def test_messages_of_rabbitmq_go_to_their_queues_and_exchanges(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A queue that is missing is made; of an exchange nobody knows what it was, and it says so."""
    bodies = [each.body for each in make_messages(4)]
    entries: list[TapeEntry] = [
        TapedMessage(START, "jobs", bodies[0], 1, "jobs"),
        TapedMessage(START + 1, "shop", bodies[1], 1, "orders.new"),
        TapedMessage(START + 2, "shop", bodies[2], 1, "bills.new"),
        TapedMessage(START + 3, "jobs", bodies[3], 1, "jobs"),
    ]
    path = write(tmp_path / "day.tape", entries)
    settings = Settings(aws_port=0, control_port=0, data_dir=None, amqp_port=0, amqp="embedded")
    with embedded(settings) as emulator:
        assert replay(emulator, path, "--speed", "max") == 2
        assert "no exchange 'shop'" in capfd.readouterr().err
        assert emulator.broker.url is not None
        with closing(pika.BlockingConnection(pika.URLParameters(emulator.broker.url))) as connection:
            channel = connection.channel()
            channel.queue_purge("jobs")
            channel.exchange_declare("shop", "topic")
            channel.queue_declare("orders")
            channel.queue_bind("orders", "shop", "orders.*")
            assert replay(emulator, path, "--speed", "max") == 0
            got = [channel.basic_get(name, auto_ack=True)[2] for name in ("jobs", "orders", "jobs", "orders")]
        assert got == [bodies[0], bodies[1], bodies[3], None]
        assert replay(emulator, path, "--speed", "max", "--into", "input") == 0
        assert len(read(emulator, "input")) == 4


def test_what_is_refused_for_what_it_is_is_counted(
    emulator: Embedded, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """And the rest comes."""
    large = TapedMessage(START + 1.5, "yesterday", b"x" * (1 << 20), 1 << 20, "k", "s0")
    path = write(tmp_path / "a.tape", [*make_messages(4), large])
    assert replay(emulator, path, "--speed", "1000", "--json") == 1
    told = capfd.readouterr()
    assert "1 messages were refused to the end" in told.err
    assert json.loads(told.out)["messages"] == 4


def test_a_tape_without_a_message_to_try_a_client_with_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before the client is started."""
    path = write(tmp_path / "day.tape", [TapedMessage(START, "yesterday", b"{", 1, "k", "s0")])
    (tmp_path / "text.tape").write_text("hello")
    for name, says in ((path, "has no message that is whole, valid"), (tmp_path / "text.tape", "is no tape")):
        assert main(["certify", "consumer", "--tape", str(name), "--", "no-such-command"]) == 2
        assert says in capfd.readouterr().err
