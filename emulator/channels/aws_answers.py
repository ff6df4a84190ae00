"""Reads outcomes and shards from Kinesis's answers and boto3's exceptions."""

from __future__ import annotations

from typing import Any, Final

from emulator.channels.channel import Outcome, PublishRefusedError, PublishUnknownError, Receipt
from emulator.channels.shard_reader import ShardListing

THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "LimitExceededException",
        "ThrottlingException",
        "KMSThrottlingException",
        "RequestLimitExceeded",
    }
)
TRANSIENT: Final = THROTTLED | {
    "InternalFailure",
    "InternalServerError",
    "ServiceUnavailable",
    "ConnectionClosedError",
    "ReadTimeoutError",
    "EndpointConnectionError",
    "ConnectTimeoutError",
}
"""Errors that may be over at the next try. A second read is harmless; a second put may make a duplicate."""
_NEVER_SENT: Final = frozenset(
    {"EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError", "SSLError"}
)


def code_of(error: Exception) -> str:
    """The service's error code, or the name of the exception when there was no answer."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        return str(response.get("Error", {}).get("Code", type(error).__name__))
    return type(error).__name__


def publish_failure(error: Exception) -> PublishRefusedError | PublishUnknownError:
    """Build the outcome of a failed put.

    It is a refusal when the service said no or was never reached, and unknown when the service
    failed inside (status 500 and above) or did not answer. Botocore's own validation comes before
    anything is sent, so it is a refusal too.
    """
    code = code_of(error)
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500))
        message = str(response.get("Error", {}).get("Message", ""))
        return PublishUnknownError(code, message) if status >= 500 else PublishRefusedError(code, message)
    if code in _NEVER_SENT or code == "ParamValidationError":
        return PublishRefusedError(code, str(error))
    return PublishUnknownError(code, str(error))


def parse_shard(shard: dict[str, Any]) -> ShardListing:
    """Parse a shard of a ListShards response."""
    parents = (shard.get("ParentShardId"), shard.get("AdjacentParentShardId"))
    return ShardListing(shard["ShardId"], tuple(parent for parent in parents if parent))


def entry_outcome(entry: dict[str, Any]) -> Outcome:
    """The outcome of one entry of a PutRecords response."""
    if code := entry.get("ErrorCode"):
        return PublishRefusedError(code, entry.get("ErrorMessage", "the entry was not put"))
    return Receipt(entry["ShardId"], entry["SequenceNumber"])
