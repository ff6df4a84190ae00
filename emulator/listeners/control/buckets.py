"""Buckets and their objects, read through S3 like any client."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse

from emulator.listeners.control.endpoint_routing import ApiError, handles
from rdss_sandbox.api.buckets import Buckets
from rdss_sandbox.shapes.buckets import Bucket, BucketList, ObjectPage, ObjectRow

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_BYTES = "application/octet-stream"
_CHUNK_BYTES = 1 << 18


class BucketResources:
    """``/buckets``. The S3 client is made at the first request, because that is slow."""

    def __init__(self, s3: Callable[[], S3Client]) -> None:
        self._s3 = s3

    @handles(Buckets.buckets)
    def buckets(self) -> BucketList:
        found = self._s3().list_buckets()["Buckets"]
        return BucketList(tuple(Bucket(b["Name"], b["CreationDate"].timestamp()) for b in found))

    @handles(Buckets.objects)
    def objects(self, bucket: str, *, prefix: str, after: str | None, limit: int) -> ObjectPage:
        answer = self._ask(
            bucket,
            lambda s3: s3.list_objects_v2(
                Bucket=bucket, Prefix=prefix, StartAfter=after or "", MaxKeys=limit
            ),
        )
        rows = tuple(
            ObjectRow(found["Key"], found["Size"], found["LastModified"].timestamp())
            for found in answer.get("Contents", ())
        )
        return ObjectPage(rows, rows[-1].key if answer["IsTruncated"] and rows else None)

    @handles(Buckets.object)
    def object(self, bucket: str, key: str) -> Response:
        answer = self._ask(bucket, lambda s3: s3.get_object(Bucket=bucket, Key=key))
        kind = mimetypes.guess_type(key)[0] or _BYTES
        headers = {"content-length": str(answer["ContentLength"]), "x-content-type-options": "nosniff"}
        pieces: Iterator[bytes] = answer["Body"].iter_chunks(_CHUNK_BYTES)
        return StreamingResponse(pieces, media_type=kind, headers=headers)

    def read(self, bucket: str, key: str) -> bytes:
        """Read an object whole. Raises ApiError."""
        return bytes(self._ask(bucket, lambda s3: s3.get_object(Bucket=bucket, Key=key)["Body"].read()))

    def _ask(self, bucket: str, ask: Callable[[S3Client], Any]) -> Any:
        from botocore.exceptions import ClientError, ParamValidationError

        try:
            return ask(self._s3())
        except ParamValidationError as error:
            why = f"{bucket!r} or what is asked of it has a name that S3 allows for none"
            raise ApiError(HTTPStatus.NOT_FOUND, "NoSuchBucket", why) from error
        except ClientError as error:
            code = error.response["Error"]["Code"]
            missing = code in {"NoSuchBucket", "NoSuchKey", "404"}
            status = HTTPStatus.NOT_FOUND if missing else HTTPStatus.BAD_GATEWAY
            raise ApiError(status, code, f"{bucket}: {error.response['Error']['Message']}") from error
