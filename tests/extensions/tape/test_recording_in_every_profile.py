"""Recording in each profile: what clients put and are refused is on the tape, whatever is behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rdss_sandbox.shapes.tape import TapedChannel, TapedMessage, TapedRead, TapedRefusal
from tests.extensions.tape.test_recording import read, recording_from
from tests.profile_sandboxes import ProfileSandbox, in_profiles, use_sandbox
from tests.waiting import wait_until

_STREAM = "taped"


@pytest.fixture(params=in_profiles())
def sandbox(request: pytest.FixtureRequest) -> Iterator[ProfileSandbox]:
    with use_sandbox(request.param, request) as found:
        yield found


def test_a_clients_calls_are_on_the_tape(sandbox: ProfileSandbox, tmp_path: Path) -> None:
    """A message with its place, a read, a refusal with its code, and a reshard."""
    path = tmp_path / "calls.tape"
    sandbox.call("CreateStream", {"StreamName": _STREAM, "ShardCount": 1})
    with recording_from(sandbox.control.url, path, sandbox.token):
        put = sandbox.call("PutRecord", {"StreamName": _STREAM, "Data": b"one", "PartitionKey": "a"})
        place = {"StreamName": _STREAM, "ShardId": put["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        at = sandbox.call("GetShardIterator", place)["ShardIterator"]
        wait_until(lambda: sandbox.call("GetRecords", {"ShardIterator": at})["Records"])
        with pytest.raises(sandbox.kinesis.exceptions.ResourceNotFoundException):
            sandbox.call("PutRecord", {"StreamName": "nowhere", "Data": b"one", "PartitionKey": "a"})
        split = {"StreamName": _STREAM, "ShardToSplit": put["ShardId"], "NewStartingHashKey": "12345"}
        sandbox.call("SplitShard", split)
    (found,) = read(path, TapedMessage, lambda each: each.channel == _STREAM)
    assert (found.body, found.key, found.shard, found.number) == (
        b"one", "a", put["ShardId"], put["SequenceNumber"],
    )  # fmt: skip
    assert found.latency > 0
    reads = read(path, TapedRead, lambda each: each.operation == "GetRecords" and each.channel == _STREAM)
    assert (reads[-1].shard, reads[-1].records) == (put["ShardId"], 1)
    assert "ResourceNotFoundException" in [each.code for each in read(path, TapedRefusal)]
    shapes = read(path, TapedChannel, lambda each: each.channel == _STREAM)
    assert [len(each.shards) for each in shapes] == [1, 2]
