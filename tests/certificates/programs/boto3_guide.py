# The consumer of AWS's code examples for boto3, KinesisStream.get_records: its lines, with ours to tell.
import json
import os

import boto3

kinesis_client = boto3.client("kinesis")
name = os.environ["SANDBOX_STREAM"]
details = kinesis_client.describe_stream(StreamName=name)["StreamDescription"]
response = kinesis_client.get_shard_iterator(
    StreamName=name, ShardId=details["Shards"][0]["ShardId"], ShardIteratorType="LATEST"
)
shard_iter = response["ShardIterator"]
while True:
    response = kinesis_client.get_records(ShardIterator=shard_iter, Limit=10)
    shard_iter = response["NextShardIterator"]
    for record in response["Records"]:
        print(json.dumps({"processed": json.loads(record["Data"])["messageHeader"]["messageId"]}), flush=True)
