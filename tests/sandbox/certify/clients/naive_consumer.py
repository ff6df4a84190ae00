"""A first consumer, as they are written: LATEST, the shards of the start, no deduplication, no checkpoint."""

import json
import os
import time

import boto3

kinesis = boto3.client("kinesis")
stream = os.environ["SANDBOX_STREAM"]
iterators = {
    shard["ShardId"]: kinesis.get_shard_iterator(
        StreamName=stream, ShardId=shard["ShardId"], ShardIteratorType="LATEST"
    )["ShardIterator"]
    for shard in kinesis.list_shards(StreamName=stream)["Shards"]
}
while True:
    for shard, iterator in list(iterators.items()):
        answer = kinesis.get_records(ShardIterator=iterator)
        for record in answer["Records"]:
            print(
                json.dumps({"processed": json.loads(record["Data"])["messageHeader"]["messageId"]}),
                flush=True,
            )
        if answer.get("NextShardIterator"):
            iterators[shard] = answer["NextShardIterator"]
        else:
            del iterators[shard]
    time.sleep(0.25)
