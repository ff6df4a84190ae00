"""A ``bucket`` data source for PySpark 4.2+: the lines of new S3 objects, without the S3A jar.

An offset is a map ``{folder: last key read}``. Within a folder, the key of a new object must sort behind all
older keys, as keys with a sequence range do. An object that is overwritten is not read again. Every batch
reads from all folders in turn, so that no folder runs ahead of the others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

COLUMNS = "data BINARY, bucket STRING, key STRING, line INT"
Offset = dict[str, str]
_SPELLED = {
    "bucket": "bucket", "prefix": "prefix", "endpointUrl": "endpoint_url", "region": "region",
    "awsAccessKeyId": "access_key_id", "awsSecretKey": "secret_key",
    "maxObjectsPerTrigger": "objects_per_trigger",
    "objectsPerPartition": "objects_per_partition",
}  # fmt: skip
OPTION_NAMES = tuple(_SPELLED)
_LINES_PER_BATCH = 2000


class BucketSourceError(Exception):
    """The source cannot continue; the message names the option or object that is the reason."""


@dataclass(frozen=True)
class BucketOptions:
    """Options of one ``load()``; their names are case-insensitive."""

    bucket: str
    prefix: str = ""
    endpoint_url: str | None = None
    region: str = "us-east-1"
    access_key_id: str | None = None
    secret_key: str | None = None
    objects_per_trigger: int = 2000
    objects_per_partition: int = 50

    @classmethod
    def of(cls, options: Mapping[str, str]) -> BucketOptions:
        """Read the options. Raises BucketSourceError for an option that is missing, unknown or not valid."""
        names = {spelled.lower(): name for spelled, name in _SPELLED.items()}
        values: dict[str, Any] = {}
        for key, text in options.items():
            name = names.get(key.lower())
            if name is None:
                raise BucketSourceError(f"unknown option {key!r}; known: {', '.join(OPTION_NAMES)}")
            if name.startswith("objects_per") and not (text.isdigit() and int(text)):
                raise BucketSourceError(f"option {key} is {text!r}, but must be a whole number above 0")
            values[name] = int(text) if name.startswith("objects_per") else text
        if not values.get("bucket"):
            raise BucketSourceError("option bucket is missing")
        return cls(**values)

    def client(self) -> Any:
        """Create an S3 client of botocore."""
        from botocore.config import Config
        from botocore.session import Session

        return Session().create_client(
            "s3",
            region_name=self.region,
            endpoint_url=self.endpoint_url or os.environ.get("AWS_ENDPOINT_URL"),
            aws_access_key_id=self.access_key_id,
            aws_secret_access_key=self.secret_key,
            config=Config(s3={"addressing_style": "path"}, retries={"mode": "standard", "max_attempts": 8}),
        )


@dataclass(frozen=True)
class ObjectKeys(InputPartition):
    """Keys that one task reads, in order."""

    keys: tuple[str, ...]


class _Reading:
    """The common part of the batch reader and the streaming reader."""

    def __init__(self, settings: BucketOptions) -> None:
        self._settings = settings

    def _keys(self, client: Any) -> list[str]:
        pages = client.get_paginator("list_objects_v2").paginate(
            Bucket=self._settings.bucket, Prefix=self._settings.prefix
        )
        return [found["Key"] for page in pages for found in page.get("Contents", ())]

    def between(self, start: Offset, end: Offset | None) -> list[str]:
        """The keys behind ``start`` up to ``end``, one from each folder in turn."""
        folders: dict[str, list[str]] = {}
        for key in sorted(self._keys(self._settings.client())):
            folder = key.rpartition("/")[0]
            if key > start.get(folder, "") and (end is None or key <= end.get(folder, "")):
                folders.setdefault(folder, []).append(key)
        in_turn = chain.from_iterable(zip_longest(*folders.values()))
        return [key for key in in_turn if key is not None]

    def partitions_of(self, keys: Sequence[str]) -> list[InputPartition]:
        """Tasks of at most ``objectsPerPartition`` keys; at least two when there are as many keys."""
        size = max(1, min(self._settings.objects_per_partition, -(-len(keys) // 2)))
        return [ObjectKeys(tuple(keys[at : at + size])) for at in range(0, len(keys), size)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Read the lines that are not empty, without line ends. Spark passes None when there is nothing."""
        if not isinstance(partition, ObjectKeys):
            return
        client, bucket = self._settings.client(), self._settings.bucket
        for key in partition.keys:
            body = client.get_object(Bucket=bucket, Key=key)["Body"].read()
            lines = ((number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip())
            while some := list(islice(lines, _LINES_PER_BATCH)):
                yield _arrow(bucket, key, some)


def _arrow(bucket: str, key: str, lines: Sequence[tuple[int, bytes]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([line for _, line in lines], pa.binary()),
            pa.array([bucket] * len(lines), pa.string()),
            pa.array([key] * len(lines), pa.string()),
            pa.array([number for number, _ in lines], pa.int32()),
        ],
        names=[column.split()[0] for column in COLUMNS.split(", ")],
    )


class BucketBatchReader(_Reading, DataSourceReader):
    """Reads all objects once."""

    def partitions(self) -> Sequence[InputPartition]:
        return self.partitions_of(self.between({}, None))


class BucketStreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads new objects; ``availableNow`` ends with the objects that existed when it began."""

    def __init__(self, settings: BucketOptions) -> None:
        super().__init__(settings)
        self._available: Offset | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        return {}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._available = _behind({}, self.between({}, None))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadMaxFiles(self._settings.objects_per_trigger)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        keys = self.between(start, self._available)
        if not isinstance(limit, ReadAllAvailable):
            keys = keys[: self._settings.objects_per_trigger]
        return _behind(start, keys)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return self.partitions_of(self.between(start, end))


def _behind(start: Offset, keys: Sequence[str]) -> Offset:
    end = dict(start)
    for key in keys:
        folder = key.rpartition("/")[0]
        end[folder] = max(key, end.get(folder, ""))
    return end


class BucketSource(DataSource):
    """``format("bucket")``; its options are ``OPTION_NAMES``, its columns ``COLUMNS``."""

    @classmethod
    def name(cls) -> str:
        return "bucket"

    def schema(self) -> str:
        return COLUMNS

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark passes it by name
        return BucketBatchReader(BucketOptions.of(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802, ARG002 - Spark's
        return BucketStreamReader(BucketOptions.of(self.options))
