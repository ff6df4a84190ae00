"""The benchmark measures what it says: nothing lost on the way, ratios the right way round."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.bench import against, report
from tests.bench.against import ROOT, compare, pair_up
from tests.bench.load import BadAnswerError, Connection, drained, put_records, rendered, repeated
from tests.bench.rows import US, Row, ratio
from tests.bench.soak import soak
from tests.bench.subjects import SUBJECTS, Running, resident_megabytes, running


@pytest.fixture(scope="module")
def ours() -> Iterator[Running]:
    with running(SUBJECTS[0]) as found:
        assert found is not None
        yield found


def test_every_record_put_is_read_back(ours: Running) -> None:
    """Writes on two connections and reads of two shards count the same records."""
    with Connection(ours.port) as connection:
        connection.call("CreateStream", {"StreamName": "s", "ShardCount": 2})
    timing = repeated(ours.port, [put_records("s", 50, 10, salt) for salt in range(3)], 20, connections=2)
    assert len(timing.each) == 20
    count, _ = drained(ours.port, "s", ["shardId-000000000000", "shardId-000000000001"], 10_000, seconds=30)
    assert count == 1000


def test_a_refusal_is_not_counted(ours: Running) -> None:
    """An error is not a fast answer."""
    with (
        Connection(ours.port) as connection,
        pytest.raises(BadAnswerError, match="ResourceNotFoundException"),
    ):
        connection.send(rendered("DescribeStream", {"StreamName": "nowhere"}))


def test_idle_memory_is_under_100_megabytes(ours: Running) -> None:
    """With all its processes, as long as nothing but Kinesis has been used."""
    assert 10 < resident_megabytes(ours.pid) < 100


def test_ratios_say_how_many_times_better_we_are() -> None:
    """Less time and more records are both better."""
    rows = [
        Row("latency", US, 1.0, "ms"),
        Row("latency", "peer", 3.0, "ms"),
        Row("rate", US, 300.0, "records/s", "more"),
        Row("rate", "peer", 100.0, "records/s", "more"),
        Row("only theirs", "peer", 1.0, "s"),
    ]
    assert [ratio(row, rows) for row in rows] == [1.0, 3.0, 1.0, 3.0, None]


def test_the_table_has_a_column_a_subject(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """results.md holds every value, and a dash where a subject could not be measured."""
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    report.write("speed", [Row("rate", US, 300.0, "records/s", "more"), Row("ready", "peer", 0.5, "s")])
    lines = (report.FOLDER / "results.md").read_text().splitlines()
    assert "| rate, records/s | 300 | - |" in lines
    assert "| ready, s | - | 0.5 |" in lines


def test_an_area_is_renewed_and_the_others_stay(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its ratios, in both files."""
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    for value in (2.0, 4.0):
        report.write("speed", [Row("ready", US, 1.0, "s"), Row("ready", "peer", value, "s")])
        report.write("size", [Row("memory", US, value, "MB")])
    written = (report.FOLDER / "results.md").read_text()
    assert "| ready, s | 1 | 4 (4 x) |" in written
    assert "(2 x)" not in written
    assert written.index("## size") < written.index("## speed")


def test_a_limit_says_how_much_of_it_we_reach(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that only answers is no peer: nobody is better than that."""
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    report.write("speed", [Row("ready", US, 4.0, "s"), Row("ready", "nothing", 1.0, "s")])
    assert "| ready, s | 4 | 1 (0.25 of it) |" in (report.FOLDER / "results.md").read_text()


def test_a_commit_is_compared_by_the_median_of_its_turns() -> None:
    """A turn that something else disturbed does not decide, and what one of both has not is left out."""
    ours, theirs = ([Row("ready", US, value, "s"), Row("ready", "peer", 1.0, "s")] for value in (2.0, 4.0))
    slow = [Row("ready", US, 90.0, "s"), Row("new", US, 1.0, "s")]
    (found,) = pair_up([ours, slow, ours], [theirs, theirs, theirs])
    assert (found.times, max(found.ours), found.theirs) == (2.0, 90.0, (4.0, 4.0, 4.0))


@pytest.mark.slow
def test_an_area_is_measured_with_a_commit_too(capfd: pytest.CaptureFixture[str]) -> None:
    """The commit's own product is what is measured, and nothing of it stays."""
    if not (ROOT / ".git").exists():
        pytest.skip("no commits here: this is no checkout")
    compared = compare("contracts", "HEAD", turns=1)
    assert compared
    against.show("contracts", "HEAD", compared)
    assert "contracts: in turns" in capfd.readouterr().err
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "worktree", "list"], check=True, capture_output=True, text=True
    )
    assert "bench-" not in listed.stdout


def test_the_soak_loses_and_repeats_nothing() -> None:
    """In small: two rounds with every fault on, and a receiver that is killed seven times."""
    found = soak(200, kills=7, per_round=100, longest_life=240)
    assert (found.kills, found.lost, found.twice, found.changed, found.rejects_off) == (7, 0, 0, 0, 0), found
    assert found.injected > 200
