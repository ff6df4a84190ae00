"""Many threads at one engine: what is acknowledged is what is read back."""

from __future__ import annotations

import json
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.emulator.kinesis.engine_calls import SCOPE

if TYPE_CHECKING:
    from tests.emulator.kinesis.engine_calls import Api

WRITERS, BATCHES, RECORDS = 4, 15, 60


def test_four_writers_a_reader_and_reshards_at_once_lose_and_repeat_nothing(api: Api) -> None:
    """Each acknowledged record is found once, at the number and in the shard that its writer was told."""
    api.create(shards=2)

    def write(writer: int) -> dict[tuple[str, str], bytes]:
        told: dict[tuple[str, str], bytes] = {}
        for batch in range(BATCHES):
            datas = [b"%d.%d.%d" % (writer, batch, i) for i in range(RECORDS)]
            records = [{"Data": b64encode(data).decode(), "PartitionKey": data.decode()} for data in datas]
            body = json.dumps({"StreamName": "s", "Records": records}).encode()
            answer = json.loads(api.engine.put_records_json(body, SCOPE))
            assert answer["FailedRecordCount"] == 0
            for data, entry in zip(datas, answer["Records"], strict=True):
                told[entry["ShardId"], entry["SequenceNumber"]] = data
        return told

    def reshard() -> dict[tuple[str, str], bytes]:
        for count in (4, 3, 1, 2, 5):
            api("UpdateShardCount", StreamName="s", TargetShardCount=count, ScalingType="UNIFORM_SCALING")
            for i in range(len(api.shards())):
                api.get(api.iterator(i), Limit=10)
        return {}

    with ThreadPoolExecutor(WRITERS + 1) as pool:
        jobs = [pool.submit(write, writer) for writer in range(WRITERS)] + [pool.submit(reshard)]
        told = {place: data for job in jobs for place, data in job.result().items()}
    api.restart()

    found = {
        (shard["ShardId"], record.sequence_number): record.data
        for shard in api.shards()
        for record in api.engine.read("s", shard["ShardId"], None, 100_000, SCOPE)
    }
    assert len(told) == WRITERS * BATCHES * RECORDS
    assert found == told
