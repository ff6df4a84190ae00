"""The aws profile: every request signed anew, before a server that verifies signatures strictly."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from moto.moto_api._internal.models import moto_api_backend

from emulator.assembly.embedded import Embedded, embedded
from emulator.assembly.own_infrastructure import UpstreamFailedError
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine
from emulator.listeners.aws.aws_app import AwsApp
from emulator.listeners.aws.aws_chunked import ChunkError, unframed
from emulator.listeners.aws.engine_backend import EngineBackend
from emulator.relay.aws.endpoints import AwsEndpoints
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.topology import Topology
from tests.emulator.loop_thread import LoopThread
from tests.emulator.relay.aws.signature_check import Verifier

ACCESS, SECRET, TOKEN = (
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    "a/session+token==",
)
SETTINGS = Settings(
    profile="aws",
    aws_port=0,
    control_port=0,
    data_dir=None,
    region="eu-west-2",
    topology=Topology({"input": 1}, ("rdss-audit",)),
)


@dataclass
class Strict:
    """A relay with the caller's credentials, and what the upstream thought of its requests."""

    relay: Embedded
    verifier: Verifier


@pytest.fixture
def strict(loop_thread: LoopThread, monkeypatch: pytest.MonkeyPatch) -> Iterator[Strict]:
    clock = Clock()
    events = Events(clock)
    engine = Engine(None, clock, events)
    verifier = Verifier(AwsApp(EngineBackend(engine, clock), events), ACCESS, SECRET, TOKEN)
    url = loop_thread.serve(verifier).url
    for name, value in (("ACCESS_KEY_ID", ACCESS), ("SECRET_ACCESS_KEY", SECRET), ("SESSION_TOKEN", TOKEN)):
        monkeypatch.setenv(f"AWS_{name}", value)
    with embedded(replace(SETTINGS, upstream_aws=url)) as relay:
        yield Strict(relay, verifier)
    engine.close()
    moto_api_backend.reset()


@pytest.fixture
def connect(strict: Strict) -> Iterator[Callable[..., Any]]:
    """boto3 clients whose own keys are worth nothing upstream."""
    made: list[Any] = []
    session = boto3.Session("anybody", "anything", region_name="eu-west-2")

    def make(service: str, **settings: Any) -> Any:
        made.append(session.client(service, endpoint_url=strict.relay.aws, **settings))
        return made[-1]

    yield make
    for client in made:
        client.close()


def test_every_service_is_signed_anew(strict: Strict, connect: Callable[..., Any]) -> None:
    """JSON, query and REST protocols, odd keys and queries, long and short bodies: each is accepted."""
    kinesis, s3, sqs = connect("kinesis"), connect("s3"), connect("sqs")
    kinesis.put_record(StreamName="input", Data=b"x", PartitionKey="k")
    for key in ("plain", "a b+c/ü~(1)*.json", "double//slash"):
        s3.put_object(Bucket="rdss-audit", Key=key, Body=b"body of " + key.encode())
        assert s3.get_object(Bucket="rdss-audit", Key=key)["Body"].read() == b"body of " + key.encode()
    s3.put_object(Bucket="rdss-audit", Key="long", Body=bytes(range(256)) * 12_000)
    assert s3.head_object(Bucket="rdss-audit", Key="long")["ContentLength"] == 3_072_000
    listed = s3.list_objects_v2(Bucket="rdss-audit", Prefix="a b+c/", Delimiter="/")["Contents"]
    assert [found["Key"] for found in listed] == ["a b+c/ü~(1)*.json"]
    sqs.create_queue(QueueName="queue", tags={"a b": "c&d"})
    connect("sts").get_caller_identity()
    assert strict.verifier.refused == []
    assert strict.verifier.passed > 10


def test_a_faulted_call_is_signed_as_it_is_sent(strict: Strict, connect: Callable[..., Any]) -> None:
    """Changed, and put twice: both with the caller's own signature."""
    kinesis = connect("kinesis")
    with Client(strict.relay.control) as control:
        control.add_fault(NewFault("corrupt", direction="publish"))
        control.add_fault(NewFault("duplicate", direction="publish"))
        kinesis.put_record(StreamName="input", Data=b"x" * 500, PartitionKey="k")
        stream = control.stream("input")
        assert control.messages().total == 2
    assert stream.name == "input"
    assert strict.verifier.refused == []


def test_the_verifier_can_say_no(strict: Strict) -> None:
    """The same request with the client's own signature, or with one byte changed, is refused."""
    session = boto3.Session("anybody", "anything", region_name="eu-west-2")
    upstream = strict.relay.settings.upstream_aws
    client = session.client(
        "kinesis", endpoint_url=upstream, config=Config(retries={"total_max_attempts": 1})
    )
    with pytest.raises(ClientError, match="InvalidSignature"):
        client.list_streams()
    client.close()
    assert upstream
    request = AWSRequest("POST", upstream + "/", {"X-Amz-Target": "Kinesis_20131202.ListStreams"}, b"{}")
    SigV4Auth(Credentials(ACCESS, SECRET, TOKEN), "kinesis", "eu-west-2").add_auth(request)
    headers = dict(request.headers.items()) | {"content-type": "application/x-amz-json-1.1"}
    assert httpx.post(upstream + "/", content=b"{}", headers=headers).status_code == 200
    headers["X-Amz-Target"] = "Kinesis_20131202.DeleteStream"
    assert httpx.post(upstream + "/", content=b"{}", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "query", ["", "?Action=SendMessage&X-Amz-Credential=a/20260101/eu-west-2/sqs/aws4_request"]
)
def test_what_is_not_signed_is_never_signed(strict: Strict, query: str) -> None:
    """A page in a browser can send requests, but must not have them done with the caller's credentials."""
    before = strict.verifier.passed
    answer = httpx.post(
        strict.relay.aws + "/" + query, content=b"x", headers={"origin": "http://evil.example"}
    )
    assert answer.status_code == 403
    assert strict.verifier.passed == before


def test_a_presigned_url_still_reads(strict: Strict, connect: Callable[..., Any]) -> None:
    """Its signature is taken off and the request signed in its place."""
    s3 = connect("s3", config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))
    s3.put_object(Bucket="rdss-audit", Key="seen", Body=b"seen")
    url = s3.generate_presigned_url("get_object", {"Bucket": "rdss-audit", "Key": "seen"})
    assert httpx.get(url).content == b"seen"
    assert strict.verifier.refused == []


def test_chunks_signed_by_the_client_are_unwrapped(strict: Strict, connect: Callable[..., Any]) -> None:
    """As the Java SDK sends an object: the object is kept, not its framing."""
    data = bytes(range(256)) * 300
    framed = b"".join(
        b"%x;chunk-signature=%b\r\n%b\r\n" % (len(piece), b"0" * 64, piece)
        for piece in (data[:65536], data[65536:], b"")
    )
    headers = {
        "authorization": "AWS4-HMAC-SHA256 Credential=anybody/20260101/eu-west-2/s3/aws4_request, "
        "SignedHeaders=host, Signature=" + "0" * 64,
        "x-amz-date": "20260101T000000Z",
        "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        "x-amz-decoded-content-length": str(len(data)),
        "content-encoding": "aws-chunked",
    }
    answer = httpx.put(strict.relay.aws + "/rdss-audit/chunked", content=framed, headers=headers)
    assert answer.status_code == 200
    assert connect("s3").get_object(Bucket="rdss-audit", Key="chunked")["Body"].read() == data
    assert strict.verifier.refused == []


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
async def test_chunks_are_found_wherever_the_pieces_break(size: int) -> None:
    """And a body that ends too soon is not taken for whole."""
    framed = b"3;chunk-signature=0\r\nabc\r\n2\r\nde\r\n0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n"

    async def pieces(body: bytes) -> AsyncIterator[bytes]:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    assert b"".join([piece async for piece in unframed(pieces(framed))]) == b"abcde"
    with pytest.raises(ChunkError):
        [piece async for piece in unframed(pieces(framed[:24]))]


def test_aws_has_a_host_for_each_service_and_region() -> None:
    """As botocore knows them; what it does not know is named."""
    endpoints = AwsEndpoints(Credentials(ACCESS, SECRET))
    hosts = [
        endpoints.of(*asked).connections for asked in (("kinesis", "eu-west-2"), ("monitoring", "us-east-1"))
    ]
    assert [host.host for host in hosts] == [
        "kinesis.eu-west-2.amazonaws.com",
        "monitoring.us-east-1.amazonaws.com",
    ]
    assert all(host.secure and host.port == 443 for host in hosts)
    assert endpoints.of("kinesis", "eu-west-2") is endpoints.of("kinesis", "eu-west-2")


def test_without_credentials_it_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And says where they are looked for."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(UpstreamFailedError, match="set AWS_ACCESS_KEY_ID"), embedded(SETTINGS):
        pass
