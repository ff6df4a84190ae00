"""What is not Kinesis: moto in the same process, behind the same port."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from emulator.listeners.aws.credentials import caller_of
from emulator.listeners.aws.moto_services import bucket_in_host
from emulator.rng import new_uuid
from tests.emulator.endpoint_fixtures import Endpoint

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

S3_SIGNED = {
    "authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/eu-west-2/s3/aws4_request, "
    "SignedHeaders=host, Signature=0"
}


@pytest.fixture
def bucket(endpoint: Endpoint) -> tuple[str, S3Client]:
    """A new bucket's name, and the S3 client that made it."""
    s3 = endpoint.client("s3")
    name = f"bucket-{new_uuid()}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-west-2"})
    return name, s3


def test_objects_of_any_name_and_size(bucket: tuple[str, S3Client]) -> None:
    """Keys with slashes in a row and escapes, metadata, ranges, listings and multipart uploads."""
    name, s3 = bucket
    key = "http://dx.doi.org/10.5061/a b+c%20é/metadata.json"
    s3.put_object(Bucket=name, Key=key, Body=b"0123456789", Metadata={"under_score": "1", "hy-phen": "2"})
    found = s3.get_object(Bucket=name, Key=key, Range="bytes=2-4")
    assert found["Body"].read() == b"234"
    assert found["Metadata"] == {"under_score": "1", "hy-phen": "2"}
    assert [item["Key"] for item in s3.list_objects_v2(Bucket=name)["Contents"]] == [key]
    large = bytes(9_000_000)
    s3.upload_fileobj(io.BytesIO(large), name, "large")
    assert s3.head_object(Bucket=name, Key="large")["ContentLength"] == len(large)
    assert s3.get_object(Bucket=name, Key="large")["Body"].read() == large


def test_uploads_in_chunks(bucket: tuple[str, S3Client], endpoint: Endpoint) -> None:
    """Transfer-Encoding: chunked without a length, and aws-chunked with signatures, store the payload."""
    name, s3 = bucket
    pieces = [b"x" * 50_000] * 40
    response = endpoint.http.put(f"/{name}/streamed", headers=S3_SIGNED, content=iter(pieces))
    assert response.status_code == 200
    assert s3.head_object(Bucket=name, Key="streamed")["ContentLength"] == 2_000_000
    signature = b";chunk-signature=" + b"0" * 64
    headers = {
        "content-encoding": "aws-chunked",
        "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        "x-amz-decoded-content-length": "5",
    }
    body = b"5" + signature + b"\r\nhello\r\n0" + signature + b"\r\n\r\n"
    assert endpoint.http.put(f"/{name}/c", headers=S3_SIGNED | headers, content=body).status_code == 200
    assert s3.get_object(Bucket=name, Key="c")["Body"].read() == b"hello"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("b.localhost:4566", "b"),
        ("my.bucket.s3.localhost:4566", "my.bucket"),
        ("my-bucket.s3.eu-west-2.amazonaws.com", "my-bucket"),
        ("my-bucket.s3.localhost.localstack.cloud:4566", "my-bucket"),
        ("my-bucket.s3-eu-west-2.amazonaws.com", "my-bucket"),
        ("s3.localhost:4566", None),
        ("s3.eu-west-2.amazonaws.com", None),
        ("s3.localhost.localstack.cloud:4566", None),
        ("localhost:4566", None),
        ("127.0.0.1:4566", None),
        ("[::1]:4566", None),
        ("sandbox", None),
    ],
)
def test_the_bucket_of_a_virtual_host(host: str, expected: str | None) -> None:
    """Path style and virtual-host style are told apart as S3 does."""
    caller = caller_of(S3_SIGNED["authorization"].encode())
    found = bucket_in_host(host.replace("b.", "bkt.", 1) if host.startswith("b.") else host, caller)
    assert found == ("bkt" if expected == "b" else expected)


def test_a_host_of_any_name_has_its_buckets_in_the_path(
    bucket: tuple[str, S3Client], endpoint: Endpoint
) -> None:
    """A name given by --allow-host, a proxy's or a certificate's, is no bucket's."""
    name, s3 = bucket
    host = {"host": "aws.example.org"}
    assert endpoint.http.put(f"/{name}/key", headers=S3_SIGNED | host, content=b"v").status_code == 200
    assert s3.get_object(Bucket=name, Key="key")["Body"].read() == b"v"


def test_virtual_host_requests_reach_the_bucket(bucket: tuple[str, S3Client], endpoint: Endpoint) -> None:
    """What a client with ``http://localhost`` as its endpoint sends."""
    name, s3 = bucket
    host = {"host": f"{name}.s3.localhost:{endpoint.port}"}
    assert endpoint.http.put("/key", headers=S3_SIGNED | host, content=b"v").status_code == 200
    assert s3.get_object(Bucket=name, Key="key")["Body"].read() == b"v"


def test_every_service_sees_the_account_of_the_key(endpoint: Endpoint) -> None:
    """moto and the engine agree: 000000000000, or the access key where that is 12 digits."""
    assert endpoint.client("sts").get_caller_identity()["Account"] == "000000000000"
    topic = endpoint.client("sns").create_topic(Name="t")["TopicArn"]
    assert topic == "arn:aws:sns:eu-west-2:000000000000:t"


NOT_EMULATED = {
    "braket": ("braket", "search_jobs", {"filters": []}),
    "codestar-connections": ("codestar-connections", "list_connections", {}),
    "cloudformation": ("cloudformation", "list_stacks", {}),
    "cloudsearch": ("cloudsearch", "describe_domains", {}),
    "arc-region-switch": ("arc-region-switch", "list_plans", {}),
}


def test_a_service_that_uses_the_policies_of_aws_has_them(endpoint: Endpoint) -> None:
    """They are not in memory for the services that have no use for them."""
    instance, policy = "arn:aws:sso:::instance/ins-0123456789abcdef", "arn:aws:iam::aws:policy/ReadOnlyAccess"
    endpoint.client("s3").list_buckets()
    sso = endpoint.client("sso-admin")
    made = sso.create_permission_set(Name="readers", InstanceArn=instance)["PermissionSet"]
    named = {"InstanceArn": instance, "PermissionSetArn": made["PermissionSetArn"]}

    sso.attach_managed_policy_to_permission_set(**named, ManagedPolicyArn=policy)

    attached = sso.list_managed_policies_in_permission_set(**named)["AttachedManagedPolicies"]
    assert [each["Arn"] for each in attached] == [policy]


@pytest.mark.parametrize("name", NOT_EMULATED)
def test_a_service_that_nobody_emulates_says_so(endpoint: Endpoint, name: str) -> None:
    """In its own protocol (REST or JSON, XML, CBOR), so that botocore shows the sentence and asks once."""
    service, operation, given = NOT_EMULATED[name]
    client = endpoint.client(service)
    asked: list[Any] = []
    client.meta.events.register("before-send.*", lambda request, **_: asked.append(request))
    with pytest.raises(
        client.exceptions.ClientError, match=f"the service '{service}' is not emulated"
    ) as told:
        getattr(client, operation)(**given)
    assert told.value.response["Error"]["Code"] == "NotImplemented"
    assert told.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501
    assert len(asked) == 1
    failures = [e.fields["service"] for e in endpoint.events.since() if e.kind == "aws.request.failed"]
    assert failures == [service]


DOCUMENTS = {
    "entities": b'<!DOCTYPE d [<!ENTITY a "b">]><Delete><Object><Key>&a;</Key></Object></Delete>',
    "doctype": b"<!DOCTYPE d><Delete><Object><Key>k</Key></Object></Delete>",
    "external": b'<!DOCTYPE d SYSTEM "http://127.0.0.1/x.dtd"><Delete/>',
    "nested": b"<a>" * 100_000 + b"</a>" * 100_000,
    "unfinished": b"<Delete><Object>",
    "empty": b"",
}


@pytest.mark.parametrize("query", ["delete", "tagging", "cors", "lifecycle", "publicAccessBlock"])
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_xml_that_s3_does_not_read_is_refused(
    bucket: tuple[str, S3Client], endpoint: Endpoint, kind: str, query: str
) -> None:
    """With S3's own error; nothing is expanded, fetched or done."""
    name, s3 = bucket
    s3.put_object(Bucket=name, Key="k", Body=b"v")
    method = "POST" if query == "delete" else "PUT"
    answer = endpoint.http.request(method, f"/{name}?{query}", headers=S3_SIGNED, content=DOCUMENTS[kind])
    assert answer.status_code == 400, answer.content
    assert b"<Code>Malformed" in answer.content
    assert s3.get_object(Bucket=name, Key="k")["Body"].read() == b"v"


def test_an_object_may_be_any_xml(bucket: tuple[str, S3Client]) -> None:
    """A document type is nothing to whoever stores it."""
    name, s3 = bucket
    s3.put_object(Bucket=name, Key="page.xml", Body=DOCUMENTS["entities"], ContentType="application/xml")
    assert s3.get_object(Bucket=name, Key="page.xml")["Body"].read() == DOCUMENTS["entities"]


def test_health_is_answered_before_anything_is_imported() -> None:
    """Wait scripts made for LocalStack work, and starting up imports neither moto nor boto3."""
    program = """
import asyncio, json, sys, urllib.request
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine
from emulator.listeners.aws.aws_app import AwsApp
from emulator.listeners.aws.engine_backend import EngineBackend
from emulator.http.server import serve

async def main():
    clock = Clock()
    events = Events(clock)
    server = await serve(AwsApp(EngineBackend(Engine(None, clock, events), clock), events), "127.0.0.1", 0)
    read = lambda: urllib.request.urlopen(server.url + "/_localstack/health").read()
    print(json.loads(await asyncio.to_thread(read))["services"])
    await server.close()
    print(sorted({"moto", "boto3", "botocore", "flask", "h2"} & set(sys.modules)))

asyncio.run(main())
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    services, imported = ran.stdout.splitlines()
    assert "'kinesis': 'running'" in services
    assert "'s3': 'available'" in services
    assert imported == "[]"


def test_health_once_moto_runs(endpoint: Endpoint) -> None:
    """What has been used is running."""
    endpoint.client("sts").get_caller_identity()
    for path in ("/health", "/_localstack/health"):
        assert httpx.get(endpoint.url + path).json()["services"]["s3"] == "running"
