"""ListShards, GetShardIterator and GetRecords: signed, pooled, tried again with back-off."""

from __future__ import annotations

import json
import os
from email.utils import parsedate_to_datetime
from functools import lru_cache
from threading import Event
from typing import Any, NamedTuple, TypeVar

import msgspec
import urllib3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.session import Session

from .options import ReadOptions
from .source_errors import KinesisSourceError, ServiceError

TRIM_HORIZON = "TRIM_HORIZON"
AT_TIMESTAMP = "AT_TIMESTAMP "
_RETRIES_OF_THE_UNKNOWN = 5


class RecordMark(msgspec.Struct, rename="pascal"):
    """A record without its data: sequence number, and arrival in seconds since the epoch."""

    sequence_number: str
    approximate_arrival_timestamp: float


class ReadRecord(msgspec.Struct, rename="pascal"):
    """A record with its data; arrival in seconds since the epoch."""

    sequence_number: str
    data: bytes
    partition_key: str
    approximate_arrival_timestamp: float


class RecordsAnswer(msgspec.Struct, rename="pascal", kw_only=True):
    """An answer to GetRecords; ``next_shard_iterator`` is None at the end of a closed shard."""

    millis_behind_latest: int = 0
    next_shard_iterator: str | None = None


class MarkPage(RecordsAnswer):
    """A page of which the data is not decoded."""

    records: list[RecordMark] = []


class RecordPage(RecordsAnswer):
    """A page with the data of its records."""

    records: list[ReadRecord] = []


class ListedShard(NamedTuple):
    """A shard of ListShards. ``parents`` are those still listed; ``open`` is True while it takes records.

    ``id`` is its key in an offset: the shard id, with the prefix ``<stream>/`` if there are several streams.
    """

    id: str
    parents: tuple[str, ...]
    open: bool


class KinesisClient:
    """The three calls that a reader needs: signed, over one connection pool, and retried with back-off."""

    def __init__(self, settings: ReadOptions) -> None:
        self._settings = settings
        self._credentials = _credentials(settings)
        self._http = urllib3.PoolManager(
            maxsize=16,
            retries=False,
            timeout=urllib3.Timeout(connect=5, read=60),
            ca_certs=os.environ.get("AWS_CA_BUNDLE"),
        )
        self._idle = Event()
        self._answered = False
        self.server_time = 0.0
        """The service's clock in seconds since the epoch, from the Date header of its last answer."""

    def list_shards(self) -> list[ListedShard]:
        """List all shards, stream by stream, in the order of the service."""
        return [shard for stream in self._settings.streams for shard in self._shards_of(stream)]

    def _shards_of(self, stream: str) -> list[ListedShard]:
        request: dict[str, Any] = {"StreamName": stream}
        raw: list[dict[str, Any]] = []
        while True:
            answer = json.loads(self.call("ListShards", request))
            raw += answer["Shards"]
            if not (token := answer.get("NextToken")):
                break
            request = {"NextToken": token}
        before = f"{stream}/" if len(self._settings.streams) > 1 else ""
        listed = {str(shard["ShardId"]) for shard in raw}
        return [_shard(shard, listed, before) for shard in raw]

    def split_key(self, shard: str) -> tuple[str, str]:
        """The stream and the shard id of a key of an offset."""
        stream, _, shard_id = shard.rpartition("/")
        return stream or self._settings.streams[0], shard_id

    def iterator(self, shard: str, position: str) -> str:
        """Get a shard iterator that starts behind ``position``."""
        stream, shard_id = self.split_key(shard)
        request: dict[str, Any] = {"StreamName": stream, "ShardId": shard_id}
        if position.startswith(AT_TIMESTAMP):
            request |= {
                "ShardIteratorType": "AT_TIMESTAMP",
                "Timestamp": float(position[len(AT_TIMESTAMP) :]),
            }
        elif position == TRIM_HORIZON:
            request |= {"ShardIteratorType": TRIM_HORIZON}
        else:
            request |= {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": position}
        return str(json.loads(self.call("GetShardIterator", request))["ShardIterator"])

    def holds(self, shard: str, sequence_number: str) -> bool:
        """Whether the record of this sequence number can still be read."""
        stream, shard_id = self.split_key(shard)
        request = {
            "StreamName": stream,
            "ShardId": shard_id,
            "ShardIteratorType": "AT_SEQUENCE_NUMBER",
            "StartingSequenceNumber": sequence_number,
        }
        try:
            iterator = json.loads(self.call("GetShardIterator", request))["ShardIterator"]
            page, _ = self.page(iterator, 1, MarkPage)
        except ServiceError as refused:
            if refused.code in {"InvalidArgumentException", "ResourceNotFoundException"}:
                return False
            raise
        return bool(page.records) and page.records[0].sequence_number == sequence_number

    def page(self, iterator: str, limit: int, kind: type[_P]) -> tuple[_P, int]:
        """Call GetRecords once; return the answer decoded as ``kind``, and its size in bytes."""
        body = self.call("GetRecords", {"ShardIterator": iterator, "Limit": min(limit, 10_000)})
        return msgspec.json.decode(body, type=kind), len(body)

    def call(self, operation: str, request: dict[str, Any]) -> bytes:
        """Call an operation and return the body of the answer.

        Throttling, 5xx and broken connections are retried, and once with new credentials when those have
        expired. An endpoint that has never answered is given up after a few seconds. Raises ServiceError.
        """
        renewed = False
        for attempt in range(self._settings.max_retries + 1):
            try:
                return self._send(operation, request)
            except ServiceError as refused:
                if refused.expired and not renewed and attempt < self._settings.max_retries:
                    self._credentials, renewed = _credentials(self._settings), True
                    continue
                unknown = not self._answered and attempt >= _RETRIES_OF_THE_UNKNOWN
                if not refused.passing or unknown or attempt == self._settings.max_retries:
                    raise
                ceiling = min(self._settings.retry_interval_ms * 2**attempt, 10_000) / 1000
                self._idle.wait(ceiling * (0.5 + os.urandom(1)[0] / 512))
        raise AssertionError

    def _send(self, operation: str, request: dict[str, Any]) -> bytes:
        headers = {
            "Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": f"Kinesis_20131202.{operation}",
        }  # fmt: skip
        url, body = self._settings.endpoint_url, json.dumps(request).encode()
        signed = AWSRequest("POST", url, headers, body)
        SigV4Auth(self._credentials, "kinesis", self._settings.region).add_auth(signed)
        try:
            answer = self._http.request("POST", url, body=body, headers=dict(signed.headers.items()))
        except urllib3.exceptions.HTTPError as broken:
            raise ServiceError("ConnectionError", f"{url}: {broken}", 0) from None
        self._answered = True
        if date := answer.headers.get("Date"):
            self.server_time = parsedate_to_datetime(date).timestamp()
        if answer.status != 200:
            raise _refusal(answer.status, answer.data)
        return answer.data


@lru_cache(maxsize=8)
def get_client(settings: ReadOptions) -> KinesisClient:
    """The client of this process: looking credentials up takes longer than reading a small range."""
    return KinesisClient(settings)


_P = TypeVar("_P", bound=RecordsAnswer)
_R = TypeVar("_R", RecordMark, ReadRecord)


class Once:
    """Filters out records that the service delivers again, and records up to a position."""

    def __init__(self, after: str) -> None:
        self._after = int(after) if after[:1].isdigit() else -1
        self._known: set[str] = set()

    def filter_new(self, records: list[_R]) -> list[_R]:
        fresh: list[_R] = []
        for record in records:
            number = record.sequence_number
            if number not in self._known and int(number) > self._after:
                self._known.add(number)
                fresh.append(record)
        return fresh


def _shard(raw: dict[str, Any], listed: set[str], before: str) -> ListedShard:
    parents = (raw.get("ParentShardId"), raw.get("AdjacentParentShardId"))
    still_open = "EndingSequenceNumber" not in raw["SequenceNumberRange"]
    return ListedShard(before + raw["ShardId"], tuple(before + p for p in parents if p in listed), still_open)


def _refusal(status: int, body: bytes) -> ServiceError:
    try:
        answer = json.loads(body)
        code, text = str(answer.get("__type", "")), answer.get("message") or answer.get("Message") or ""
    except (ValueError, AttributeError):
        code, text = "", body[:200].decode(errors="replace")
    return ServiceError(code.rpartition("#")[2] or f"HTTP {status}", str(text), status)


def _credentials(settings: ReadOptions) -> Credentials:
    session = Session(profile=settings.profile)
    if settings.access_key_id and settings.secret_key:
        found: Credentials | None = Credentials(
            settings.access_key_id, settings.secret_key, settings.session_token
        )
    else:
        found = session.get_credentials()
    if found is None:
        raise KinesisSourceError(
            "no AWS credentials: set awsAccessKeyId and awsSecretKey, or the environment's"
        )
    if not settings.role_arn:
        return found
    sts: Any = session.create_client(
        "sts", region_name=settings.region, aws_access_key_id=found.access_key,
        aws_secret_access_key=found.secret_key, aws_session_token=found.token,
    )  # fmt: skip
    role = sts.assume_role(RoleArn=settings.role_arn, RoleSessionName=settings.role_session_name)[
        "Credentials"
    ]
    return Credentials(role["AccessKeyId"], role["SecretAccessKey"], role["SessionToken"])
