"""S3's objects lie on disk: nobody who uses S3 can tell, and memory does not grow with them."""

from __future__ import annotations

import gc
import hashlib
import os
import tracemalloc
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock
from emulator.rng import Chance
from emulator.settings.settings import Settings
from rdss_sandbox.process import sandbox_process

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MB = 1 << 20
MOST_BYTES_OF_AN_OBJECT = 1_000
"""It is 870, and was 2,160 when each object had its own copy of what all have alike."""


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Embedded]:
    settings = Settings(aws_port=0, control_port=0, data_dir=tmp_path / "data")
    with embedded(settings, Clock(frozen_at=1_790_000_000.0)) as running:
        yield running


@pytest.fixture
def s3(emulator: Embedded) -> S3Client:
    client = emulator.components.buckets.client()
    client.create_bucket(Bucket="mine")
    return client


def _random(count: int) -> bytes:
    return Chance(5).draws("objects").randbytes(count)


def _resident(pid: int) -> float:
    """The memory of a process, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MB


def test_a_long_object_is_read_in_ranges_and_whole(s3: S3Client) -> None:
    """Ranges, suffixes, conditions and checksums as S3 answers them."""
    data = _random(11 * MB + 5)
    tag = s3.put_object(Bucket="mine", Key="long", Body=data)["ETag"]

    assert tag == f'"{hashlib.md5(data).hexdigest()}"'
    found = s3.get_object(Bucket="mine", Key="long")
    assert (found["ContentLength"], found["Body"].read() == data) == (len(data), True)
    for wanted, part in [
        ("bytes=0-0", data[:1]),
        (f"bytes={MB - 3}-{4 * MB}", data[MB - 3 : 4 * MB + 1]),
        ("bytes=-7", data[-7:]),
        (f"bytes={10 * MB}-", data[10 * MB :]),
    ]:
        answer = s3.get_object(Bucket="mine", Key="long", Range=wanted)
        assert answer["Body"].read() == part
        assert answer["ContentLength"] == len(part)
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 206
    with pytest.raises(ClientError, match="InvalidRange"):
        s3.get_object(Bucket="mine", Key="long", Range=f"bytes={len(data)}-")


def test_what_is_uploaded_in_parts_copied_and_versioned_is_whole(s3: S3Client) -> None:
    data = _random(13 * MB)
    parts = TransferConfig(multipart_threshold=5 * MB, multipart_chunksize=5 * MB)
    s3.upload_fileobj(BytesIO(data), "mine", "parts", Config=parts)
    assert s3.get_object(Bucket="mine", Key="parts")["Body"].read() == data
    s3.put_object(Bucket="mine", Key="source", Body=data)
    s3.copy_object(Bucket="mine", Key="copy", CopySource={"Bucket": "mine", "Key": "source"})
    s3.delete_object(Bucket="mine", Key="source")
    s3.put_bucket_versioning(Bucket="mine", VersioningConfiguration={"Status": "Enabled"})
    first = s3.put_object(Bucket="mine", Key="copy", Body=b"second")["VersionId"]
    s3.put_object(Bucket="mine", Key="copy", Body=b"third")

    versions = s3.list_object_versions(Bucket="mine", Prefix="copy")["Versions"]
    oldest = next(each["VersionId"] for each in versions if each["Size"] == len(data))
    assert s3.get_object(Bucket="mine", Key="copy", VersionId=oldest)["Body"].read() == data
    assert s3.get_object(Bucket="mine", Key="copy", VersionId=first)["Body"].read() == b"second"
    assert s3.get_object(Bucket="mine", Key="copy")["Body"].read() == b"third"


@pytest.mark.slow
def test_an_object_of_an_archive_takes_little_memory_beside_its_name(s3: S3Client) -> None:
    """What objects have alike is in memory once."""
    names = [
        f"date=2026-11-21/shardId-000000000000/{number:056d}-{number:056d}.ndjson" for number in range(400)
    ]
    taken = []
    tracemalloc.start()
    try:
        for half in (names[:200], names[200:]):
            for name in half:
                s3.put_object(
                    Bucket="rdss-audit", Key=name, Body=b"line\n", ContentType="application/x-ndjson"
                )
            gc.collect()
            taken.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()

    assert (taken[1] - taken[0]) / 200 - len(names[0]) < MOST_BYTES_OF_AN_OBJECT


def test_when_an_object_was_put_is_told_by_the_sandboxs_clock(s3: S3Client, emulator: Embedded) -> None:
    s3.put_object(Bucket="mine", Key="k", Body=b"x")
    emulator.components.clock.advance(86_400)
    s3.put_object(Bucket="mine", Key="later", Body=b"x")

    times = [s3.head_object(Bucket="mine", Key=key)["LastModified"].timestamp() for key in ("k", "later")]
    assert times == [1_790_000_000.0, 1_790_086_400.0]


def test_room_and_memory_come_back_when_objects_are_deleted(s3: S3Client, emulator: Embedded) -> None:
    """Overwritten, deleted, and after a reset; parts of an upload that was given up, too."""
    bodies = emulator.components.buckets.bodies
    for _ in range(3):
        s3.put_object(Bucket="mine", Key="k", Body=_random(4 * MB))
    assert bodies.stored_bytes < 9 * MB * 2
    upload = s3.create_multipart_upload(Bucket="mine", Key="p")["UploadId"]
    s3.upload_part(Bucket="mine", Key="p", UploadId=upload, PartNumber=1, Body=_random(6 * MB))
    s3.abort_multipart_upload(Bucket="mine", Key="p", UploadId=upload)
    s3.delete_object(Bucket="mine", Key="k")
    gc.collect()
    assert bodies.stored_bytes == 0

    s3.put_object(Bucket="rdss-audit", Key="k", Body=_random(4 * MB))
    emulator.reset()
    gc.collect()
    assert bodies.stored_bytes == 0


@pytest.mark.usefixtures("usual_collector")
@pytest.mark.slow
def test_many_objects_take_no_files_and_next_to_no_memory(s3: S3Client) -> None:
    """A megabyte each lies on disk; what stays in memory is what is said of them."""
    body = b"".join(b"%08d" % number for number in range(MB // 8))
    for number in range(20):
        s3.put_object(Bucket="mine", Key=f"warm-{number}", Body=body)
    gc.collect()
    files, before = len(os.listdir("/proc/self/fd")), _resident(os.getpid())  # noqa: PTH208 -- names only

    for number in range(150):
        s3.put_object(Bucket="mine", Key=f"many-{number}", Body=body)

    assert len(os.listdir("/proc/self/fd")) <= files + 8  # noqa: PTH208 -- as above
    gc.collect()
    assert _resident(os.getpid()) - before < 40, "150 MB were put"


@pytest.mark.slow
def test_a_long_object_is_sent_without_being_held(tmp_path: Path) -> None:
    """While 60 MB are read, far less than that is in the memory of a sandbox that nobody else uses."""
    with sandbox_process("--data-dir", str(tmp_path / "data"), "--amqp", "none") as running:
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": running.region}
        s3 = boto3.client("s3", endpoint_url=running.aws, **keys)
        s3.create_bucket(Bucket="mine")
        s3.put_object(Bucket="mine", Key="long", Body=_random(MB) * 60)
        most = before = _resident(running.pid)
        read = 0
        for piece in s3.get_object(Bucket="mine", Key="long")["Body"].iter_chunks(MB):
            read += len(piece)
            most = max(most, _resident(running.pid))
        s3.close()

    assert read == 60 * MB
    assert most - before < 25
