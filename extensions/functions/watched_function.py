"""A function of a file that is watched, with the mapping that hands it what comes to a stream or a queue."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from extensions.functions.http.function_operations import WATCHED
from rdss_sandbox.questions.deadline import Deadline

_RUNTIMES: Final = {
    ".py": f"python3.{sys.version_info.minor}",
    ".js": "nodejs22.x",
    ".mjs": "nodejs22.x",
    ".cjs": "nodejs22.x",
}
_ROLE: Final = "arn:aws:iam::000000000000:role/sandbox"
_MADE_BY: Final = "sandbox lambda run "
_TRANSITION_SECONDS: Final = 30.0
_NOT_IN_A_NAME: Final = re.compile(r"[^\w-]+")


Connect = Callable[[str], Any]
"""Makes a boto3 client of a sandbox for a service."""


class BadHandlerError(ValueError):
    """What names a handler names none, or the function's name is taken; it says why."""


class HandlerFile(NamedTuple):
    """A function in a file of Python or JavaScript."""

    file: Path
    function: str

    @property
    def name(self) -> str:
        """The name that the function has in the sandbox: that of its file."""
        return _NOT_IN_A_NAME.sub("-", self.file.stem)[:64]

    @property
    def settings(self) -> dict[str, str]:
        """How the service is told of it."""
        return {
            "Runtime": _RUNTIMES[self.file.suffix],
            "Handler": f"{self.file.stem}.{self.function}",
            "Description": f"{_MADE_BY}{self.file}:{self.function}",
        }


def read_handler(spelled: str) -> HandlerFile:
    """A handler of its spelling, FILE:FUNCTION. Raises BadHandlerError."""
    file, _, function = spelled.rpartition(":")
    path = Path(file).absolute()
    if not file or not function:
        raise BadHandlerError(f"{spelled} is no FILE:FUNCTION, such as loader.py:handler")
    if path.suffix not in _RUNTIMES:
        raise BadHandlerError(f"{file} is no file of Python or JavaScript: {', '.join(_RUNTIMES)}")
    if not path.is_file():
        raise BadHandlerError(f"there is no file {file}")
    return HandlerFile(path, function)


def find_arn(connected: Connect, source: str) -> str:
    """The ARN of ``stream NAME`` or ``queue NAME``."""
    kind, _, name = source.partition(" ")
    if kind == "stream":
        described = connected("kinesis").describe_stream_summary(StreamName=name)
        arn: str = described["StreamDescriptionSummary"]["StreamARN"]
    else:
        sqs = connected("sqs")
        url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
        described = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        arn = described["Attributes"]["QueueArn"]
    return arn


class WatchedFunction:
    """A handler in the service, from ``create`` to ``remove``. ``client`` is boto3's for Lambda.

    Its methods raise botocore's errors.
    """

    def __init__(self, client: Any, handler: HandlerFile) -> None:
        self._client = client
        self._handler = handler
        self.name = handler.name

    def create(self, settings: Mapping[str, Any]) -> None:
        """Make the function, in the place of one that an earlier run has left. Raises BadHandlerError.

        ``settings`` are those of CreateFunction.
        """
        folder = {"S3Bucket": WATCHED, "S3Key": str(self._handler.file.parent)}
        try:
            found = self._client.get_function_configuration(FunctionName=self.name)
        except self._client.exceptions.ResourceNotFoundException:
            pass
        else:
            if not found["Description"].startswith(_MADE_BY):
                raise BadHandlerError(f"there is a function {self.name} already; rename the file")
            self._remove_mappings()
            self._client.delete_function(FunctionName=self.name)
        made = {**self._handler.settings, **settings}
        self._client.create_function(FunctionName=self.name, Role=_ROLE, Code=folder, **made)

    def read_from(self, source: str, settings: Mapping[str, Any]) -> None:
        """Map a stream or a queue, by its ARN, to the function, and return once it is read.

        ``settings`` are those of CreateEventSourceMapping.
        """
        made = self._client.create_event_source_mapping(
            FunctionName=self.name, EventSourceArn=source, **settings
        )
        self._wait_until_settled(made["UUID"])

    def remove(self) -> None:
        """Remove the function and its mappings, once what is under way has ended."""
        self._remove_mappings()
        self._client.delete_function(FunctionName=self.name)

    def _remove_mappings(self) -> None:
        found = self._client.list_event_source_mappings(FunctionName=self.name)["EventSourceMappings"]
        for mapping in found:
            self._wait_until_settled(mapping["UUID"])
            self._client.delete_event_source_mapping(UUID=mapping["UUID"])
        for mapping in found:
            self._wait_until_settled(mapping["UUID"])

    def _wait_until_settled(self, uuid: str) -> None:
        """Wait until a mapping is in no transition, or is gone."""
        deadline = Deadline(_TRANSITION_SECONDS)
        while not deadline.passed:
            try:
                state = self._client.get_event_source_mapping(UUID=uuid)["State"]
            except self._client.exceptions.ResourceNotFoundException:
                return
            if state in {"Enabled", "Disabled"}:
                return
            deadline.pause()
