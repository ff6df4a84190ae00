"""Keys that lack a permission for S3, SQS or DynamoDB, and keys that nobody knows, as AWS refuses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.access import StreamPermission

Connect = Callable[[str, str], Any]
_ACCOUNT = "000000000000"
WORKER = StreamPermission(("input",), ("GetRecords", "s3:GetObject", "sqs:SendMessage", "dynamodb:*Item"))


@pytest.fixture(scope="module", params=["embedded", "relay"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Embedded]:
    """Each profile in turn; the relay stands in front of a sandbox that denies nothing."""
    settings: dict[str, Any] = {"aws_port": 0, "control_port": 0, "data_dir": None}
    with ExitStack() as stack:
        if request.param == "relay":
            behind = stack.enter_context(embedded(Settings(**settings)))
            settings |= {"profile": "relay", "upstream_aws": behind.aws}
        yield stack.enter_context(embedded(Settings(**settings)))


@pytest.fixture
def connect(sandbox: Embedded) -> Iterator[Connect]:
    with ExitStack() as stack:

        def connect(service: str, key: str) -> Any:
            keys = {"aws_access_key_id": key, "aws_secret_access_key": "any"}
            client = boto3.client(service, endpoint_url=sandbox.aws, region_name="us-east-1", **keys)
            return stack.enter_context(closing(client))

        yield connect


@pytest.fixture
def control(sandbox: Embedded) -> Iterator[Client]:
    with Client(sandbox.control) as client:
        yield client
        for each in client.access.list():
            client.access.forget(each.access_key)


def refused(call: Callable[..., Any], **request: Any) -> tuple[str, int, str]:
    """The code, the status and the message of the refusal; it has to be one."""
    with pytest.raises(ClientError) as found:
        call(**request)
    answer = found.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Message"]


def said(action: str, resource: str) -> str:
    return (
        f"User: arn:aws:iam::{_ACCOUNT}:user/worker is not authorized to perform: {action} on resource: "
        f"{resource} because no identity-based policy allows the {action} action"
    )


def test_a_missing_permission_is_refused_as_by_aws(connect: Connect, control: Client) -> None:
    """Code, status and text are those of each service; what is permitted works; each denial is an event."""
    s3, sqs, dynamodb = (connect(service, "any-other") for service in ("s3", "sqs", "dynamodb"))
    s3.create_bucket(Bucket="files")
    s3.put_object(Bucket="files", Key="a/b", Body=b"x")
    queue = sqs.create_queue(QueueName="jobs")["QueueUrl"]
    keys: dict[str, Any] = {
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    }
    dynamodb.create_table(TableName="works", BillingMode="PAY_PER_REQUEST", **keys)
    control.access.permit("worker", WORKER)

    s3, sqs, dynamodb = (connect(service, "worker") for service in ("s3", "sqs", "dynamodb"))
    assert s3.get_object(Bucket="files", Key="a/b")["Body"].read() == b"x"
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    sqs.send_message_batch(QueueUrl=queue, Entries=[{"Id": "1", "MessageBody": "x"}])
    dynamodb.put_item(TableName="works", Item={"id": {"S": "1"}})

    listing = said("s3:ListBucket", '"arn:aws:s3:::files"')
    assert refused(s3.list_objects_v2, Bucket="files") == ("AccessDenied", 403, listing)
    putting = said("s3:PutObject", '"arn:aws:s3:::files/new"')
    assert refused(s3.put_object, Bucket="files", Key="new", Body=b"x") == ("AccessDenied", 403, putting)
    assert refused(s3.head_bucket, Bucket="files")[:2] == ("403", 403)
    assert refused(s3.list_buckets) == ("AccessDenied", 403, said("s3:ListAllMyBuckets", "*"))
    receiving = said("sqs:receivemessage", f"arn:aws:sqs:us-east-1:{_ACCOUNT}:jobs")
    assert refused(sqs.receive_message, QueueUrl=queue) == ("AccessDenied", 403, receiving)
    scanning = said("dynamodb:Scan", f"arn:aws:dynamodb:us-east-1:{_ACCOUNT}:table/works")
    assert refused(dynamodb.scan, TableName="works") == ("AccessDeniedException", 400, scanning)
    denials = [each.fields for each in control.events(limit=10_000) if each.kind == "access.denied"]
    told = [each["operation"] for each in denials if each["access_key"] == "worker"]
    buckets = ["s3:ListBucket", "s3:PutObject", "s3:ListBucket", "s3:ListAllMyBuckets"]
    assert told == [*buckets, "sqs:receivemessage", "dynamodb:Scan"]


def test_a_key_that_is_not_listed_is_a_wrong_key(connect: Connect, control: Client) -> None:
    """With an entry for all others; the listed key and the sandbox's own go on."""
    s3 = connect("s3", "listed")
    s3.create_bucket(Bucket="for-the-listed")
    control.access.permit("listed", StreamPermission())
    control.access.permit("*", StreamPermission(operations=()))
    invalid = "The security token included in the request is invalid."
    kinesis = connect("kinesis", "AKIAWRONG")
    assert refused(kinesis.list_streams) == ("UnrecognizedClientException", 400, invalid)
    no_key = "The AWS Access Key Id you provided does not exist in our records."
    assert refused(connect("s3", "AKIAWRONG").list_buckets) == ("InvalidAccessKeyId", 403, no_key)
    assert refused(connect("sqs", "AKIAWRONG").list_queues) == ("InvalidClientTokenId", 403, invalid)
    tables = refused(connect("dynamodb", "AKIAWRONG").list_tables)
    assert tables == ("UnrecognizedClientException", 400, invalid)
    for key in ("listed", "sandbox"):
        assert connect("kinesis", key).list_streams()["StreamNames"]
        assert connect("s3", key).list_buckets()["Buckets"]


def test_what_all_others_may_do_they_may(connect: Connect, control: Client) -> None:
    """The entry for all others permits as any other does."""
    control.access.permit("*", StreamPermission(operations=("ListStreams", "s3:ListAllMyBuckets")))
    assert connect("kinesis", "anybody").list_streams()["StreamNames"]
    assert connect("s3", "anybody").list_buckets()["Buckets"]
    assert refused(connect("s3", "anybody").create_bucket, Bucket="mine")[0] == "InvalidAccessKeyId"


def test_a_service_that_is_none_is_named(control: Client) -> None:
    """With those that there are."""
    with pytest.raises(RefusedError, match="'se:GetObject' is of no service here; they are kinesis, s3, sqs"):
        control.access.permit("worker", StreamPermission(operations=("se:GetObject",)))
