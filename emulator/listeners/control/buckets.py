"""Buckets and their objects, read through S3 like any client."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
from starlette.responses import Response, StreamingResponse

from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from rdss_sandbox.shapes.buckets import Bucket, BucketList, ObjectPage, ObjectRow

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_BYTES = "application/octet-stream"
_CHUNK_BYTES = 1 << 18
# S3 answers in XML, which cannot carry most control characters.
Key: TypeAlias = Annotated[
    str, msgspec.Meta(pattern=r"^[^\x00-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF]*$", max_length=1024)
]


class ObjectQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Objects whose key begins with ``prefix`` and sorts behind ``after``."""

    prefix: Key = ""
    after: Key = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1000


class BucketResources:
    """``/buckets``. The S3 client is made at the first request, because that is slow."""

    def __init__(self, s3: Callable[[], S3Client]) -> None:
        self._s3 = s3

    def routes(self) -> list[Route]:
        objects = "/buckets/{bucket}/objects"
        return [
            Route("GET", "/buckets", "The buckets", self._list, BucketList),
            Route("GET", objects, "The objects in a bucket", self._page, ObjectPage, ObjectQuery),
            Route("GET", objects + "/{key:path}", "An object's content", self._download, _BYTES),
        ]

    def _list(self, _: Asked[Nothing, None]) -> BucketList:
        found = self._s3().list_buckets()["Buckets"]
        return BucketList(tuple(Bucket(b["Name"], b["CreationDate"].timestamp()) for b in found))

    def _page(self, asked: Asked[ObjectQuery, None]) -> ObjectPage:
        query = asked.query
        bucket = asked.path["bucket"]
        answer = self._ask(
            bucket,
            lambda s3: s3.list_objects_v2(
                Bucket=bucket, Prefix=query.prefix, StartAfter=query.after, MaxKeys=query.limit
            ),
        )
        rows = tuple(
            ObjectRow(found["Key"], found["Size"], found["LastModified"].timestamp())
            for found in answer.get("Contents", ())
        )
        return ObjectPage(rows, rows[-1].key if answer["IsTruncated"] and rows else None)

    def _download(self, asked: Asked[Nothing, None]) -> Response:
        bucket, key = asked.path["bucket"], asked.path["key"]
        answer = self._ask(bucket, lambda s3: s3.get_object(Bucket=bucket, Key=key))
        kind = mimetypes.guess_type(key)[0] or _BYTES
        headers = {"content-length": str(answer["ContentLength"]), "x-content-type-options": "nosniff"}
        pieces: Iterator[bytes] = answer["Body"].iter_chunks(_CHUNK_BYTES)
        return StreamingResponse(pieces, media_type=kind, headers=headers)

    def _ask(self, bucket: str, ask: Callable[[S3Client], Any]) -> Any:
        from botocore.exceptions import ClientError

        try:
            return ask(self._s3())
        except ClientError as error:
            code = error.response["Error"]["Code"]
            missing = code in {"NoSuchBucket", "NoSuchKey", "404"}
            status = HTTPStatus.NOT_FOUND if missing else HTTPStatus.BAD_GATEWAY
            raise ApiError(status, code, f"{bucket}: {error.response['Error']['Message']}") from error
