"""Files in S3, by ranged GetObject."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from sandbox.download.download_errors import DownloadError, DownloadInterruptedError, FileChangedError
from sandbox.download.file_source import Fetch

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_CHUNK_BYTES: Final = 1 << 16
_PASSING: Final = frozenset({"InternalError", "RequestTimeout", "ServiceUnavailable", "SlowDown"})


class S3Source:
    """Serves ``s3://bucket/key`` locations."""

    def __init__(self, s3: S3Client) -> None:
        self._s3 = s3

    @contextmanager
    def fetch(self, location: str, start: int, tag: str | None) -> Iterator[Fetch]:
        parts = urlsplit(location)
        request: dict[str, Any] = {"Bucket": parts.netloc, "Key": parts.path.removeprefix("/")}
        if start:
            request["Range"] = f"bytes={start}-"
            request |= {"IfMatch": tag} if tag else {}
        answer = self._ask(location, start, request)
        if answer is None:
            yield Fetch(start, start, tag, iter(()))
            return
        with closing(answer["Body"]) as body:
            total = int(answer["ContentLength"]) + start
            yield Fetch(start, total, answer.get("ETag"), _chunks(location, body))

    def _ask(self, location: str, start: int, request: dict[str, Any]) -> Any:
        """Request the object from ``start`` on; None when it ends there."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return self._s3.get_object(**request)
        except ClientError as error:
            refusal: Any = error.response
        except (BotoCoreError, OSError) as error:
            raise DownloadInterruptedError(f"{location}: {error}") from error
        code, status = refusal["Error"]["Code"], refusal["ResponseMetadata"]["HTTPStatusCode"]
        if code == "InvalidRange" and str(refusal["Error"].get("ActualObjectSize")) == str(start):
            return None
        if code in {"InvalidRange", "PreconditionFailed"} or status == _PRECONDITION_FAILED:
            raise FileChangedError(f"{location} is not the file any more of which {start} bytes came")
        why = f"{location}: {code}: {refusal['Error'].get('Message', '')}"
        if code in _PASSING or status >= 500:
            raise DownloadInterruptedError(why)
        raise DownloadError(why)


def _chunks(location: str, body: Any) -> Iterator[bytes]:
    from botocore.exceptions import BotoCoreError

    try:
        yield from body.iter_chunks(_CHUNK_BYTES)
    except (BotoCoreError, OSError) as error:
        raise DownloadInterruptedError(f"{location}: {error}") from error


_PRECONDITION_FAILED: Final = 412
