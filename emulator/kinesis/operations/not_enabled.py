"""The operations on queues and channels, which no account in the sandbox has enabled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from emulator.kinesis.errors import KinesisError
from emulator.kinesis.scope import Scope
from emulator.kinesis.stream_registry import Registry

NAMES = (
    "AcknowledgeDeadLetterQueueRecords",
    "AcknowledgeQueueRecords",
    "CreateChannel",
    "CreateQueue",
    "DeleteChannel",
    "DeleteQueue",
    "DescribeChannel",
    "DescribeQueue",
    "ListChannels",
    "ListQueues",
    "ReceiveDeadLetterQueueRecords",
    "ReceiveQueueRecords",
    "RestoreDeadLetterQueueRecords",
    "UpdateChannel",
    "UpdateDeadLetterQueueRecordsVisibility",
    "UpdateQueue",
    "UpdateQueueRecordsVisibility",
)


def refusing(operation: str) -> Callable[[Registry, dict[str, Any], Scope], NoReturn]:
    """Return the function of an operation that is not enabled. It raises AccessDeniedException."""

    def refuse(_registry: Registry, _request: dict[str, Any], scope: Scope) -> NoReturn:
        raise KinesisError(
            "AccessDeniedException",
            f"Operation {operation} is not enabled for account {scope.account} in region {scope.region}.",
        )

    return refuse
