"""What S3, DynamoDB, SQS, SNS, SSM and CloudWatch acknowledged is there after a start."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.emulator.services.conftest import Running, Start, run

MB = 1 << 20
LONG = ("done", "later")
ROLE = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what is of this one answer."""
    left_out = {"ResponseMetadata", "NextToken", "QueueUrl"}
    return {name: value for name, value in answer.items() if name not in left_out}


def make_table(dynamodb: Any, name: str = "leases", **more: Any) -> None:
    dynamodb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        **more,
    )


def items(dynamodb: Any, table: str) -> list[str]:
    return sorted(
        json.dumps(each, sort_keys=True, default=repr) for each in dynamodb.scan(TableName=table)["Items"]
    )


def test_tables_with_indexes_items_and_settings(start: Start) -> None:
    """Every type of attribute, every way to change an item, TTL, tags, indexes, backups and policies."""
    with start() as running:
        dynamodb = running.client("dynamodb")
        dynamodb.create_table(
            TableName="wide",
            KeySchema=[
                {"AttributeName": "h", "KeyType": "HASH"},
                {"AttributeName": "r", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "h", "AttributeType": "S"},
                {"AttributeName": "r", "AttributeType": "N"},
                {"AttributeName": "g", "AttributeType": "S"},
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by-g",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                    "ProvisionedThroughput": ROLE,
                }
            ],
            ProvisionedThroughput=ROLE,
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            Tags=[{"Key": "team", "Value": "rdss"}],
        )
        make_table(dynamodb)
        make_table(dynamodb, "gone")
        dynamodb.put_item(TableName="gone", Item={"key": {"S": "old"}})
        dynamodb.delete_table(TableName="gone")
        make_table(dynamodb, "gone")
        every_type = {
            "h": {"S": "a"},
            "r": {"N": "1.50"},
            "g": {"S": "x"},
            "binary": {"B": b"\x00\xff"},
            "set": {"SS": ["one", "two"]},
            "numbers": {"NS": ["1", "2"]},
            "list": {"L": [{"S": "s"}, {"M": {"deep": {"B": b"b"}}}, {"NULL": True}]},
            "map": {"M": {"yes": {"BOOL": True}}},
        }
        dynamodb.put_item(TableName="wide", Item=every_type)
        for number in range(20):
            dynamodb.put_item(TableName="leases", Item={"key": {"S": f"shard-{number}"}, "n": {"N": "0"}})
        dynamodb.delete_item(TableName="leases", Key={"key": {"S": "shard-3"}})
        dynamodb.update_item(
            TableName="leases",
            Key={"key": {"S": "shard-4"}},
            UpdateExpression="SET checkpoint = :c ADD n :one",
            ExpressionAttributeValues={":c": {"S": "49"}, ":one": {"N": "1"}},
        )
        dynamodb.batch_write_item(
            RequestItems={
                "leases": [
                    {"PutRequest": {"Item": {"key": {"S": "batch"}}}},
                    {"DeleteRequest": {"Key": {"key": {"S": "shard-5"}}}},
                ]
            }
        )
        put = {"TableName": "leases", "Item": {"key": {"S": "transacted"}}}
        dynamodb.transact_write_items(TransactItems=[{"Put": put}])
        never = {"TableName": "leases", "Item": {"key": {"S": "never"}}}
        failing = {**put, "ConditionExpression": "attribute_not_exists(#k)"}
        failing["ExpressionAttributeNames"] = {"#k": "key"}
        with pytest.raises(ClientError):
            dynamodb.transact_write_items(TransactItems=[{"Put": never}, {"Put": failing}])
        dynamodb.put_item(TableName="leases", Item={"key": {"S": "after"}})
        dynamodb.execute_statement(Statement="INSERT INTO leases value {'key': 'partiql'}")
        dynamodb.update_time_to_live(
            TableName="leases", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"}
        )
        arn = dynamodb.describe_table(TableName="leases")["Table"]["TableArn"]
        dynamodb.tag_resource(ResourceArn=arn, Tags=[{"Key": "k", "Value": "v"}])
        dynamodb.create_backup(TableName="wide", BackupName="before")
        before = everything_of_dynamodb(running)
        assert len(before["items"]["leases"]) == 22

    with start() as running:
        assert everything_of_dynamodb(running) == before
        dynamodb = running.client("dynamodb")
        backup = dynamodb.list_backups()["BackupSummaries"][0]["BackupArn"]
        dynamodb.restore_table_from_backup(TargetTableName="restored", BackupArn=backup)
        dynamodb.put_item(TableName="restored", Item={"h": {"S": "new"}, "r": {"N": "2"}})
        before = everything_of_dynamodb(running)
        assert len(before["items"]["restored"]) == 2

    with start() as running:
        assert everything_of_dynamodb(running) == before


def everything_of_dynamodb(running: Running) -> dict[str, Any]:
    dynamodb = running.client("dynamodb")
    tables = dynamodb.list_tables()["TableNames"]
    described = {name: dynamodb.describe_table(TableName=name)["Table"] for name in tables}
    streams = running.client("dynamodbstreams")
    records = []
    for stream in streams.list_streams()["Streams"]:
        arn = stream["StreamArn"]
        for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            iterator = streams.get_shard_iterator(
                StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            records += streams.get_records(ShardIterator=iterator)["Records"]
    return {
        "tables": described,
        "items": {name: items(dynamodb, name) for name in tables},
        "index": plain(dynamodb.scan(TableName="wide", IndexName="by-g")),
        "ttl": {name: plain(dynamodb.describe_time_to_live(TableName=name)) for name in tables},
        "tags": {
            name: plain(dynamodb.list_tags_of_resource(ResourceArn=described[name]["TableArn"]))
            for name in tables
        },
        "backups": dynamodb.list_backups()["BackupSummaries"],
        "records": records,
    }


def test_objects_with_metadata_tags_versions_and_uploads(start: Start) -> None:
    """ETags, version ids, dates and bodies are as acknowledged, and an upload under way can be completed."""
    with start() as running:
        s3 = running.client("s3")
        s3.create_bucket(Bucket="plain")
        s3.create_bucket(Bucket="versioned")
        s3.create_bucket(Bucket="removed")
        s3.put_object(Bucket="removed", Key="k", Body=b"old")
        s3.delete_object(Bucket="removed", Key="k")
        s3.delete_bucket(Bucket="removed")
        s3.put_bucket_versioning(Bucket="versioned", VersioningConfiguration={"Status": "Enabled"})
        s3.put_bucket_tagging(Bucket="plain", Tagging={"TagSet": [{"Key": "b", "Value": "1"}]})
        s3.put_bucket_policy(Bucket="plain", Policy='{"Statement": []}')
        s3.put_bucket_lifecycle_configuration(
            Bucket="plain",
            LifecycleConfiguration={
                "Rules": [
                    {"ID": "r", "Filter": {"Prefix": "a"}, "Status": "Enabled", "Expiration": {"Days": 3}}
                ]
            },
        )
        s3.put_object(
            Bucket="plain",
            Key="näme/with spaces",
            Body=b"body",
            Metadata={"Who": "ada", "with_underscore": "x"},
            ContentType="text/plain",
            ContentEncoding="gzip",
            CacheControl="no-store",
            Tagging="a=1&b=2",
            ACL="public-read",
            StorageClass="STANDARD_IA",
            ChecksumAlgorithm="SHA256",
        )
        s3.put_object(Bucket="plain", Key="long", Body=b"0123456789abcdef" * (3 * MB // 16))
        s3.put_object(Bucket="plain", Key="empty", Body=b"")
        s3.put_object(Bucket="plain", Key="twice", Body=b"first")
        s3.put_object(Bucket="plain", Key="twice", Body=b"second")
        s3.put_object(Bucket="plain", Key="deleted", Body=b"x")
        s3.delete_object(Bucket="plain", Key="deleted")
        s3.put_object_tagging(
            Bucket="plain", Key="twice", Tagging={"TagSet": [{"Key": "t", "Value": "late"}]}
        )
        s3.copy_object(Bucket="plain", Key="copy", CopySource="plain/twice")
        for number in range(3):
            s3.put_object(Bucket="versioned", Key="v", Body=b"version %d" % number)
        s3.delete_object(Bucket="versioned", Key="v")
        s3.put_object(Bucket="versioned", Key="v", Body=b"after")
        versions = s3.list_object_versions(Bucket="versioned")["Versions"]
        s3.delete_object(Bucket="versioned", Key="v", VersionId=versions[2]["VersionId"])
        part = b"p" * (5 * MB)
        upload = s3.create_multipart_upload(Bucket="plain", Key="done", Metadata={"m": "1"})["UploadId"]
        tag = s3.upload_part(Bucket="plain", Key="done", UploadId=upload, PartNumber=1, Body=part)["ETag"]
        s3.complete_multipart_upload(
            Bucket="plain",
            Key="done",
            UploadId=upload,
            MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": tag}]},
        )
        aborted = s3.create_multipart_upload(Bucket="plain", Key="aborted")["UploadId"]
        s3.abort_multipart_upload(Bucket="plain", Key="aborted", UploadId=aborted)
        under_way = s3.create_multipart_upload(Bucket="plain", Key="later", Metadata={"m": "2"})["UploadId"]
        first = s3.upload_part(Bucket="plain", Key="later", UploadId=under_way, PartNumber=1, Body=part)
        before = everything_of_s3(s3)
        assert before["plain"]["bodies"]["twice"] == b"second"

    with start() as running:
        s3 = running.client("s3")
        assert everything_of_s3(s3) == before
        second = s3.upload_part(Bucket="plain", Key="later", UploadId=under_way, PartNumber=2, Body=b"end")
        parts = [{"PartNumber": 1, "ETag": first["ETag"]}, {"PartNumber": 2, "ETag": second["ETag"]}]
        s3.complete_multipart_upload(
            Bucket="plain", Key="later", UploadId=under_way, MultipartUpload={"Parts": parts}
        )
        assert s3.get_object(Bucket="plain", Key="later")["Body"].read() == part + b"end"
        before = everything_of_s3(s3)

    with start() as running:
        assert everything_of_s3(running.client("s3")) == before
        with pytest.raises(ClientError, match="NoSuchBucket"):
            running.client("s3").list_objects_v2(Bucket="removed")


def everything_of_s3(s3: Any) -> dict[str, Any]:
    found = {}
    for bucket in ("plain", "versioned"):
        listed = s3.list_object_versions(Bucket=bucket)
        names = [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"]]
        heads = {name: plain(s3.head_object(Bucket=bucket, Key=name)) for name in names}
        found[bucket] = {
            "versions": listed.get("Versions"),
            "markers": listed.get("DeleteMarkers"),
            "heads": heads,
            "bodies": {name: s3.get_object(Bucket=bucket, Key=name)["Body"].read() for name in names},
            "tags": {name: s3.get_object_tagging(Bucket=bucket, Key=name)["TagSet"] for name in names},
            # moto has no ACL for an object of several parts.
            "acls": [
                s3.get_object_acl(Bucket=bucket, Key=name)["Grants"] for name in names if name not in LONG
            ],
            "versioning": plain(s3.get_bucket_versioning(Bucket=bucket)),
            "uploads": s3.list_multipart_uploads(Bucket=bucket).get("Uploads"),
        }
    found["settings"] = {
        "tags": s3.get_bucket_tagging(Bucket="plain")["TagSet"],
        "policy": s3.get_bucket_policy(Bucket="plain")["Policy"],
        "rules": s3.get_bucket_lifecycle_configuration(Bucket="plain")["Rules"],
        "buckets": s3.list_buckets()["Buckets"],
    }
    return found


def test_queues_and_messages(start: Start) -> None:
    """What was in flight is visible again, what was deleted is gone, and receipt handles stay good."""
    with start() as running:
        sqs = running.client("sqs")
        dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})
        jobs = sqs.create_queue(
            QueueName="jobs",
            Attributes={"RedrivePolicy": redrive, "VisibilityTimeout": "600"},
            tags={"t": "1"},
        )["QueueUrl"]
        fifo = sqs.create_queue(QueueName="f.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
        for number in range(3):
            sqs.send_message(
                QueueUrl=fifo, MessageBody=str(number), MessageGroupId="g", MessageDeduplicationId=str(number)
            )
        for number in range(6):
            attributes = {"b": {"DataType": "Binary", "BinaryValue": b"\xff"}}
            sqs.send_message(QueueUrl=jobs, MessageBody=f"job {number}", MessageAttributes=attributes)
        sqs.send_message(QueueUrl=jobs, MessageBody="delayed", DelaySeconds=900)
        taken = sqs.receive_message(QueueUrl=jobs, MaxNumberOfMessages=3)["Messages"]
        sqs.delete_message(QueueUrl=jobs, ReceiptHandle=taken[0]["ReceiptHandle"])
        purged = sqs.create_queue(QueueName="purged")["QueueUrl"]
        sqs.send_message(QueueUrl=purged, MessageBody="x")
        sqs.purge_queue(QueueUrl=purged)
        gone = sqs.create_queue(QueueName="gone")["QueueUrl"]
        sqs.send_message(QueueUrl=gone, MessageBody="old")
        sqs.delete_queue(QueueUrl=gone)
        sqs.create_queue(QueueName="gone")
        before = attributes_of(sqs)

    with start() as running:
        sqs = running.client("sqs")
        urls = {url.rpartition("/")[2]: url for url in sqs.list_queues()["QueueUrls"]}
        assert sorted(urls) == ["dead", "f.fifo", "gone", "jobs", "purged"]
        in_flight = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        for name, attributes in attributes_of(sqs).items():
            assert {**attributes, **dict.fromkeys(in_flight)} == {**before[name], **dict.fromkeys(in_flight)}
        found = sqs.receive_message(
            QueueUrl=urls["jobs"],
            MaxNumberOfMessages=10,
            MessageAttributeNames=["All"],
            AttributeNames=["ApproximateReceiveCount"],
        )["Messages"]
        assert [each["Body"] for each in found] == [f"job {number}" for number in range(1, 6)]
        assert [each["Attributes"]["ApproximateReceiveCount"] for each in found] == ["2", "2", "1", "1", "1"]
        assert found[0]["MessageAttributes"]["b"]["BinaryValue"] == b"\xff"
        assert found[0]["MessageId"] == taken[1]["MessageId"]
        sqs.delete_message(QueueUrl=urls["jobs"], ReceiptHandle=taken[0]["ReceiptHandle"])
        sqs.delete_message(QueueUrl=urls["jobs"], ReceiptHandle=taken[1]["ReceiptHandle"])
        first = sqs.receive_message(QueueUrl=urls["f.fifo"])["Messages"]
        assert [each["Body"] for each in first] == ["0"]
        for name in ("gone", "purged"):
            assert "Messages" not in sqs.receive_message(QueueUrl=urls[name])
        for message in found[1:]:
            sqs.change_message_visibility(
                QueueUrl=urls["jobs"], ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
            )

    with start() as running:
        sqs = running.client("sqs")
        left = sqs.receive_message(QueueUrl=urls["jobs"], MaxNumberOfMessages=10).get("Messages", [])
        assert [each["Body"] for each in left] == ["job 3", "job 4", "job 5"]
        dead_letters = sqs.receive_message(QueueUrl=urls["dead"])["Messages"]
        assert [each["Body"] for each in dead_letters] == ["job 2"]


def attributes_of(sqs: Any) -> dict[str, Any]:
    found = {}
    for url in sqs.list_queues()["QueueUrls"]:
        asked = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        found[url.rpartition("/")[2]] = {**asked, "tags": sqs.list_queue_tags(QueueUrl=url).get("Tags")}
    return found


def test_topics_parameters_and_alarms(start: Start) -> None:
    """Subscriptions go on delivering; versions of parameters, labels, tags and alarms stay."""
    with start() as running:
        sns, sqs, ssm = (running.client(name) for name in ("sns", "sqs", "ssm"))
        cloudwatch = running.client("cloudwatch")
        topic = sns.create_topic(Name="news", Tags=[{"Key": "k", "Value": "v"}])["TopicArn"]
        sns.create_topic(Name="removed")
        sns.delete_topic(TopicArn=topic.replace("news", "removed"))
        queue = sqs.create_queue(QueueName="readers")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        subscription = sns.subscribe(
            TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"FilterPolicy": '{"kind": ["good"]}'}
        )["SubscriptionArn"]
        sns.set_topic_attributes(TopicArn=topic, AttributeName="DisplayName", AttributeValue="News")
        publish(sns, topic, "kept", "good")
        for value in ("one", "two"):
            ssm.put_parameter(Name="/app/level", Value=value, Type="String", Overwrite=True)
        ssm.label_parameter_version(Name="/app/level", ParameterVersion=1, Labels=["old"])
        ssm.put_parameter(
            Name="/app/secret", Value="s", Type="SecureString", Tags=[{"Key": "a", "Value": "b"}]
        )
        ssm.put_parameter(Name="/app/removed", Value="s", Type="String")
        ssm.delete_parameter(Name="/app/removed")
        cloudwatch.put_metric_alarm(
            AlarmName="behind",
            Namespace="rdss",
            MetricName="age",
            ComparisonOperator="GreaterThanThreshold",
            EvaluationPeriods=1,
            Period=60,
            Statistic="Maximum",
            Threshold=10.0,
            Dimensions=[{"Name": "Stream", "Value": "input"}],
            AlarmActions=[topic],
        )
        cloudwatch.set_alarm_state(AlarmName="behind", StateValue="ALARM", StateReason="late")
        before = everything_of_the_others(running, topic, subscription)
        assert before["history"] == ["one", "two"]

    with start() as running:
        assert everything_of_the_others(running, topic, subscription) == before
        sns, sqs, ssm = (running.client(name) for name in ("sns", "sqs", "ssm"))
        publish(sns, topic, "left out", "bad")
        publish(sns, topic, "new", "good")
        url = sqs.get_queue_url(QueueName="readers")["QueueUrl"]
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        assert [json.loads(each["Body"])["Message"] for each in messages] == ["kept", "new"]
        ssm.add_tags_to_resource(
            ResourceType="Parameter", ResourceId="/app/level", Tags=[{"Key": "late", "Value": "1"}]
        )
        before = everything_of_the_others(running, topic, subscription)

    with start() as running:
        assert everything_of_the_others(running, topic, subscription) == before


def publish(sns: Any, topic: str, text: str, kind: str) -> None:
    attributes = {"kind": {"DataType": "String", "StringValue": kind}}
    sns.publish(TopicArn=topic, Message=text, MessageAttributes=attributes)


def everything_of_the_others(running: Running, topic: str, subscription: str) -> dict[str, Any]:
    sns, ssm, cloudwatch = (running.client(name) for name in ("sns", "ssm", "cloudwatch"))
    names = ["/app/level", "/app/secret"]
    return {
        "topics": sns.list_topics()["Topics"],
        "topic": sns.get_topic_attributes(TopicArn=topic)["Attributes"],
        "topic tags": sns.list_tags_for_resource(ResourceArn=topic)["Tags"],
        "subscriptions": sns.list_subscriptions()["Subscriptions"],
        "subscription": sns.get_subscription_attributes(SubscriptionArn=subscription)["Attributes"],
        "parameters": ssm.get_parameters(Names=[*names, "/app/removed"], WithDecryption=True)["Parameters"],
        "history": [each["Value"] for each in ssm.get_parameter_history(Name=names[0])["Parameters"]],
        "labelled": ssm.get_parameter(Name="/app/level:old")["Parameter"]["Value"],
        "parameter tags": [
            ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId=name)["TagList"] for name in names
        ],
        "alarms": cloudwatch.describe_alarms()["MetricAlarms"],
    }


def test_order_and_identity_over_several_starts(start: Start) -> None:
    """What is put after a start comes after what was there, and replaces only what it is to replace."""
    for round_ in range(3):
        with start() as running:
            sqs, s3 = running.client("sqs"), running.client("s3")
            queue = sqs.create_queue(QueueName="q")["QueueUrl"]
            if not round_:
                s3.create_bucket(Bucket="plain")
                s3.put_bucket_versioning(Bucket="plain", VersioningConfiguration={"Status": "Enabled"})
            for number in range(3):
                sqs.send_message(QueueUrl=queue, MessageBody=f"{round_} {number}")
                s3.put_object(Bucket="plain", Key=f"{round_} {number}", Body=b"x")
            s3.put_object(Bucket="plain", Key="same", Body=b"%d" % round_)
    with start() as running:
        sqs, s3 = running.client("sqs"), running.client("s3")
        found = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
        expected = [f"{round_} {number}" for round_ in range(3) for number in range(3)]
        assert [each["Body"] for each in found] == expected
        listed = s3.list_object_versions(Bucket="plain")["Versions"]
        assert sorted(each["Key"] for each in listed) == [*expected, "same", "same", "same"]
        assert s3.get_object(Bucket="plain", Key="same")["Body"].read() == b"2"


def test_beside_a_sandbox_of_the_same_process_that_stores_nothing(start: Start) -> None:
    """moto is one for both: what the other has put does not keep this one from storing its own."""
    with run(None) as other:
        other.client("s3").create_bucket(Bucket="others")
        other.client("s3").put_object(Bucket="others", Key="k", Body=b"x")
        with start() as running:
            s3 = running.client("s3")
            s3.create_bucket(Bucket="mine")
            s3.put_object(Bucket="mine", Key="k", Body=b"mine")
    with start() as running:
        assert running.client("s3").get_object(Bucket="mine", Key="k")["Body"].read() == b"mine"


def test_a_delete_marker_cannot_be_tagged(start: Start) -> None:
    """405, as AWS says it of the marker's version; the versions before it can be."""
    with start() as running:
        s3 = running.client("s3")
        s3.create_bucket(Bucket="marked")
        s3.put_bucket_versioning(Bucket="marked", VersioningConfiguration={"Status": "Enabled"})
        version = s3.put_object(Bucket="marked", Key="k", Body=b"x")["VersionId"]
        marker = s3.delete_object(Bucket="marked", Key="k")["VersionId"]
        tags = {"TagSet": [{"Key": "a", "Value": "b"}]}
        with pytest.raises(ClientError) as refused:
            s3.put_object_tagging(Bucket="marked", Key="k", VersionId=marker, Tagging=tags)
        answer = refused.value.response
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 405
        error = answer["Error"]
        assert (error["Code"], error["Method"], error["ResourceType"]) == (
            *("MethodNotAllowed", "PUT"),
            "DeleteMarker",
        )
        s3.put_object_tagging(Bucket="marked", Key="k", VersionId=version, Tagging=tags)
        assert running.events("aws.request.failed") == []
