# The producer of AWS's code examples for boto3, KinesisStream.put_record: its lines, with ours to tell.
import json
import os

import boto3

kinesis_client = boto3.client("kinesis")
with open(os.environ["SANDBOX_MESSAGES"]) as file:
    for data in map(json.loads, file):
        partition_key = data["messageHeader"]["messageId"]
        kinesis_client.put_record(
            StreamName=os.environ["SANDBOX_STREAM"], Data=json.dumps(data), PartitionKey=partition_key
        )
        print(json.dumps({"sent": partition_key}), flush=True)
