"""The options of the source, with the spellings of other Kinesis connectors, read into Settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .source_errors import KinesisSourceError

LATEST = "LATEST"


@dataclass(frozen=True)
class ReadOptions:
    """Options of one ``load()``; names are case-insensitive, with or without the prefix ``kinesis.``."""

    streams: tuple[str, ...]
    region: str
    endpoint_url: str
    starting_position: str = LATEST
    ending_position: str = LATEST
    fail_on_data_loss: bool = True
    access_key_id: str | None = None
    secret_key: str | None = None
    session_token: str | None = None
    profile: str | None = None
    role_arn: str | None = None
    role_session_name: str = "spark-kinesis"
    max_records_per_trigger: int | None = None
    max_records_per_shard: int | None = None
    max_bytes_per_trigger: int | None = None
    records_per_request: int = 10_000
    records_per_partition: int = 20_000
    max_retries: int = 8
    retry_interval_ms: int = 100
    describe_shard_interval: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ReadOptions:
        """Read the options. Raises KinesisSourceError for an option that is missing, unknown or not valid."""
        given = {key.lower().removeprefix("kinesis."): value for key, value in options.items()}
        unknown = sorted(set(given) - set(_OPTIONS) - {"path"})
        if unknown:
            raise KinesisSourceError(f"unknown option {unknown[0]!r}; known: {', '.join(_SPELLED)}")
        values: dict[str, Any] = {}
        for key, text in given.items():
            if key in _OPTIONS:
                name, kind = _OPTIONS[key]
                values[name] = _convert(key, text, kind)
        if not values.get("streams"):
            raise KinesisSourceError("option streamName is missing")
        values.setdefault(
            "region", os.environ.get("AWS_REGION", os.environ.get("AWS_DEFAULT_REGION", "us-east-1"))
        )
        values.setdefault("endpoint_url", _default_endpoint(values["region"]))
        return cls(**values)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


def _int(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _bool(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().lower()]


_SPELLED: dict[str, tuple[str, Callable[[str], Any]]] = {
    "streamName": ("streams", _names), "region": ("region", str), "endpointUrl": ("endpoint_url", str),
    "startingPosition": ("starting_position", str), "initialPosition": ("starting_position", str),
    "endingPosition": ("ending_position", str), "failOnDataLoss": ("fail_on_data_loss", _bool),
    "awsAccessKeyId": ("access_key_id", str), "awsSecretKey": ("secret_key", str),
    "awsSessionToken": ("session_token", str), "awsProfile": ("profile", str),
    "awsSTSRoleARN": ("role_arn", str), "awsSTSSessionName": ("role_session_name", str),
    "maxRecordsPerTrigger": ("max_records_per_trigger", _int),
    "maxFetchRecordsPerShard": ("max_records_per_shard", _int),
    "maxBytesPerTrigger": ("max_bytes_per_trigger", _int),
    "maxRecordsPerRequest": ("records_per_request", _int),
    "recordsPerPartition": ("records_per_partition", _int),
    "maxRetries": ("max_retries", _int), "retryIntervalMs": ("retry_interval_ms", _int),
    "describeShardInterval": ("describe_shard_interval", str),
}  # fmt: skip
_OPTIONS = {spelled.lower(): target for spelled, target in _SPELLED.items()}
OPTION_NAMES = tuple(_SPELLED)


def _convert(key: str, text: str, kind: Callable[[str], Any]) -> Any:
    try:
        return kind(text)
    except (ValueError, KeyError):
        form = "true or false" if kind is _bool else "a whole number above 0"
        raise KinesisSourceError(f"option {key} is {text!r}, but must be {form}") from None


def _default_endpoint(region: str) -> str:
    named = os.environ.get("AWS_ENDPOINT_URL_KINESIS") or os.environ.get("AWS_ENDPOINT_URL")
    return named or f"https://kinesis.{region}.amazonaws.com"
