"""Files in S3: ranged, resumed, and never two states of an object in one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from emulator.assembly.embedded import embedded
from emulator.clock import Clock
from emulator.settings.settings import Settings
from sandbox.aws_endpoint import connect_s3
from sandbox.download.download import Downloads
from sandbox.download.download_errors import DownloadError
from sandbox.download.s3 import S3Source
from tests.sandbox.download.conftest import CONTENT, described

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Client]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, seed=7)) as emulator:
        client = connect_s3(emulator.aws)
        client.create_bucket(Bucket="files")
        yield client
        client.close()


class CutBodies:
    """An S3 client whose answers end after a third of the file."""

    def __init__(self, s3: Any) -> None:
        self._s3 = s3
        self.asked: list[dict[str, Any]] = []

    def get_object(self, **request: Any) -> Any:
        self.asked.append(request)
        answer = self._s3.get_object(**request)
        answer["Body"] = _Cut(answer["Body"])
        return answer


class _Cut:
    def __init__(self, body: Any) -> None:
        self._body = body
        self.close = body.close

    def iter_chunks(self, _size: int) -> Iterator[bytes]:
        yield self._body.read(len(CONTENT) // 3 + 1)


def test_a_file_from_s3_is_resumed_by_range(s3: S3Client, tmp_path: Path) -> None:
    """Each try asks for what is missing, of the same state of the object."""
    s3.put_object(Bucket="files", Key="a/reef.csv", Body=CONTENT)
    client = CutBodies(s3)
    downloads = Downloads(tmp_path, {"s3": S3Source(client)}, Clock(autojump=True))  # type: ignore[arg-type]
    assert downloads.fetch(described("s3://files/a/reef.csv")).read_bytes() == CONTENT
    assert [request.get("Range") for request in client.asked] == [None, "bytes=85334-", "bytes=170668-"]
    assert client.asked[1]["IfMatch"]


def test_an_object_that_changed_meanwhile_begins_anew(s3: S3Client, tmp_path: Path) -> None:
    """The part that came of the old object is given up."""
    s3.put_object(Bucket="files", Key="b", Body=CONTENT)
    clock = Clock(autojump=True)
    other = CONTENT[::-1]

    class Changing(CutBodies):
        def get_object(self, **request: Any) -> Any:
            if len(self.asked) == 1:
                s3.put_object(Bucket="files", Key="b", Body=other)
            return super().get_object(**request)

    downloads = Downloads(tmp_path, {"s3": S3Source(Changing(s3))}, clock)  # type: ignore[arg-type]
    assert downloads.fetch(described("s3://files/b", other)).read_bytes() == other


def test_an_object_that_is_not_there(s3: S3Client, tmp_path: Path) -> None:
    """S3's own word for it, GENERR006, at once."""
    clock = Clock(autojump=True)
    with pytest.raises(DownloadError, match="NoSuchKey") as refused:
        Downloads(tmp_path, {"s3": S3Source(s3)}, clock).fetch(described("s3://files/none"))
    assert refused.type is DownloadError
    assert clock.elapsed() < 0.2 + 10
