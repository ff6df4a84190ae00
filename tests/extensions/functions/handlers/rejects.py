"""A right handler that puts what it cannot process on the invalid queue, and keeps its memory in DynamoDB."""

import base64
import hashlib
import json
import os

import boto3

kinesis, table = boto3.client("kinesis"), boto3.resource("dynamodb").Table("processed")
try:
    table.load()
except table.meta.client.exceptions.ResourceNotFoundException:
    try:
        table.meta.client.create_table(
            TableName=table.name,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    except table.meta.client.exceptions.ResourceInUseException:
        pass  # The other environment was quicker.


def read(record: dict) -> bytes:
    if "kinesis" in record:
        return base64.b64decode(record["kinesis"]["data"])
    return record["body"].encode()


def body_digest(data: bytes) -> str:
    text = data.decode()
    start = text.index('"messageBody":') + len('"messageBody":')
    body = text[start : json.JSONDecoder().raw_decode(text, start)[1]]
    return hashlib.sha256(body.encode()).hexdigest()


def process(data: bytes) -> None:
    message_id = json.loads(data)["messageHeader"]["messageId"]
    if "Item" not in table.get_item(Key={"id": message_id}, ConsistentRead=True):
        print(json.dumps({"processed": message_id, "sha256": body_digest(data)}))
        table.put_item(Item={"id": message_id})


def handler(event: dict, context: object) -> None:
    del context
    for record in event["Records"]:
        data = read(record)
        try:
            process(data)
        except (ValueError, KeyError):
            kinesis.put_record(
                StreamName=os.environ["SANDBOX_INVALID_STREAM"], Data=data, PartitionKey="invalid"
            )
