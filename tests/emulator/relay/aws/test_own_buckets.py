"""S3 in front of an upstream that the sandbox started: it is the sandbox's own, and forgets nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from moto.moto_api._internal.models import moto_api_backend

from emulator.assembly.embedded import Embedded
from emulator.clock import Clock
from emulator.events import Events
from emulator.http.asgi import HttpScope, Receive, Send
from emulator.kinesis import Engine
from emulator.listeners.aws.aws_app import AwsApp
from emulator.listeners.aws.engine_backend import EngineBackend
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.topology import Topology
from tests.emulator.loop_thread import LoopThread
from tests.emulator.relay.aws.test_relay import relaying

ONE_BUCKET = Topology({}, ("rdss-audit",))
FORM = {"content-type": "application/x-www-form-urlencoded"}

MakeClient = Callable[..., Any]


class Upstream:
    """An engine behind an AWS port that notes which requests come."""

    def __init__(self, loop_thread: LoopThread, app: AwsApp) -> None:
        self.asked: list[tuple[str, str]] = []
        self._app = app
        self.url = loop_thread.serve(self).url

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        self.asked.append((scope["method"], scope["path"]))
        await self._app(scope, receive, send)


@pytest.fixture
def upstream(loop_thread: LoopThread) -> Iterator[Upstream]:
    clock = Clock()
    events = Events(clock)
    engine = Engine(None, clock, events)
    yield Upstream(loop_thread, AwsApp(EngineBackend(engine, clock), events))
    engine.close()


@pytest.fixture
def start(upstream: Upstream, tmp_path: Path) -> Callable[[], AbstractContextManager[Embedded]]:
    """Run a sandbox in front of its upstream, on the same directory each time."""

    def starting() -> AbstractContextManager[Embedded]:
        return relaying(upstream.url, ONE_BUCKET, upstream_owned=True, data_dir=tmp_path)

    return starting


Start = Callable[[], AbstractContextManager[Embedded]]


def describe_object(s3: Any) -> dict[str, Any]:
    """Everything of a bucket with versions that a client sees."""
    versions = s3.list_object_versions(Bucket="mine")
    found = s3.get_object(Bucket="mine", Key="a thing")
    return {
        "versions": [
            (each["VersionId"], each["ETag"], each["LastModified"]) for each in versions["Versions"]
        ],
        "markers": [(each["Key"], each["VersionId"]) for each in versions["DeleteMarkers"]],
        "body": found["Body"].read(),
        "metadata": found["Metadata"],
        "type": found["ContentType"],
        "tags": s3.get_object_tagging(Bucket="mine", Key="a thing")["TagSet"],
        "bucket": s3.get_bucket_tagging(Bucket="mine")["TagSet"],
        "parts": [each["Key"] for each in s3.list_multipart_uploads(Bucket="mine")["Uploads"]],
    }


def test_what_users_put_is_there_after_a_restart(start: Start, client: MakeClient) -> None:
    """With metadata, tags, versions with their ids and times, delete markers and uploads under way."""
    with start() as first:
        s3 = client("s3", first.aws)
        s3.create_bucket(Bucket="mine")
        s3.put_bucket_tagging(Bucket="mine", Tagging={"TagSet": [{"Key": "owner", "Value": "me"}]})
        s3.put_bucket_versioning(Bucket="mine", VersioningConfiguration={"Status": "Enabled"})
        for body in (b"old", b"new"):
            s3.put_object(
                Bucket="mine", Key="a thing", Body=body, Metadata={"made": "by me"}, ContentType="text/plain"
            )
        tags = {"TagSet": [{"Key": "state", "Value": "kept"}]}
        s3.put_object_tagging(Bucket="mine", Key="a thing", Tagging=tags)
        s3.put_object(Bucket="mine", Key="deleted", Body=b"deleted")
        s3.delete_object(Bucket="mine", Key="deleted")
        s3.create_multipart_upload(Bucket="mine", Key="under way")
        before = describe_object(s3)
    # The upstream, which is in this process too, forgets what it has of S3.
    moto_api_backend.reset()
    with start() as second:
        assert describe_object(client("s3", second.aws)) == before
    assert (before["body"], before["metadata"]) == (b"new", {"made": "by me"})
    assert (len(before["versions"]), len(before["markers"])) == (3, 1)


def test_the_upstream_is_asked_for_everything_but_s3(
    start: Start, upstream: Upstream, client: MakeClient
) -> None:
    """Signed or in a signed URL, S3 is ours; other services' requests pass, those without a signature too."""
    with start() as running:
        s3 = client("s3", running.aws)
        s3.create_bucket(Bucket="mine")
        s3.put_object(Bucket="mine", Key="thing", Body=b"body")
        link = s3.generate_presigned_url("get_object", {"Bucket": "mine", "Key": "thing"})
        assert httpx.get(link).content == b"body"
        assert httpx.get(f"{running.aws}/mine/nothing").status_code in (403, 404)
        assert {path for _, path in upstream.asked} == {"/"}, "S3 came to the upstream"
        upstream.asked.clear()
        client("sqs", running.aws).list_queues()
        httpx.post(f"{running.aws}/a-form", content=b"Action=ListQueues", headers=FORM)
        httpx.get(f"{running.aws}/a-query?Action=ConfirmSubscription")
        httpx.post(f"{running.aws}/a-target", headers={"x-amz-target": "DynamoDB_20120810.ListTables"})
        httpx.get(f"{running.aws}/_aws/sqs/messages")
        asked = [path for _, path in upstream.asked]
        assert asked == ["/", "/a-form", "/a-query", "/a-target", "/_aws/sqs/messages"]


def test_a_reset_empties_the_buckets_for_good(start: Start, client: MakeClient) -> None:
    """What users put is gone, and does not come back; the buckets of the topology are there."""
    with start() as running, Client(running.control) as control:
        client("s3", running.aws).create_bucket(Bucket="mine")
        control.reset()
        assert bucket_names(client("s3", running.aws)) == ["rdss-audit"]
    with start() as again:
        assert bucket_names(client("s3", again.aws)) == ["rdss-audit"]


def bucket_names(s3: Any) -> list[str]:
    return [each["Name"] for each in s3.list_buckets()["Buckets"]]
