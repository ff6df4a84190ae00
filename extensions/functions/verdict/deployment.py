"""A handler as it is deployed to be certified: its function and its mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from extensions.functions.mappings.mapping import PARTIAL
from extensions.functions.watched_function import HandlerFile

STREAM: Final = "lambda-kinesis"
QUEUE: Final = "lambda-sqs"
"""What hands over the batches: names beside those of kinds of channels."""
SIDE_BY_SIDE: Final = 2
"""The fewest invocations at a time that a mapping of a queue can be limited to."""


class Deployment(NamedTuple):
    """A ``handler`` that is mapped to a stream or to a queue (``channel``).

    A batch is tried once more than ``retries`` says. ``timeout`` is seconds, ``memory`` megabytes.
    """

    handler: HandlerFile
    channel: str = STREAM
    batch_size: int = 10
    retries: int = 2
    bisect: bool = False
    report_batch_item_failures: bool = False
    timeout: int = 3
    memory: int = 256
    variables: Mapping[str, str] = {}

    @property
    def function(self) -> dict[str, Any]:
        """The settings of CreateFunction, without its variables."""
        return {"Timeout": self.timeout, "MemorySize": self.memory}

    @property
    def mapping(self) -> dict[str, Any]:
        """The settings of CreateEventSourceMapping. How often a queue retries is its own setting."""
        settings: dict[str, Any] = {"BatchSize": self.batch_size}
        if self.report_batch_item_failures:
            settings["FunctionResponseTypes"] = [PARTIAL]
        if self.channel == QUEUE:
            return {**settings, "ScalingConfig": {"MaximumConcurrency": SIDE_BY_SIDE}}
        return {
            **settings,
            "StartingPosition": "TRIM_HORIZON",
            "MaximumRetryAttempts": self.retries,
            "BisectBatchOnFunctionError": self.bisect,
        }

    @property
    def options(self) -> tuple[str, ...]:
        """The options of ``sandbox certify handler`` that ask for it."""
        words = ["--event-source", "sqs"] if self.channel == QUEUE else []
        usual = Deployment(self.handler)
        for name in ("batch_size", "retries", "bisect", "report_batch_item_failures", "timeout", "memory"):
            if (value := getattr(self, name)) != getattr(usual, name):
                words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
        for name, value in self.variables.items():
            words += ["--env", f"{name}={value}"]
        return tuple(words)
