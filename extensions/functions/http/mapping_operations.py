"""The operations of Lambda on event source mappings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from emulator.kinesis import KinesisError, Scope
from emulator.rng import new_uuid
from emulator.streams.stream_service import StreamService
from extensions.functions.engine.errors import BadValueError, ConflictError, LambdaError, NotFoundError
from extensions.functions.engine.function import Place, Version
from extensions.functions.engine.functions import Functions
from extensions.functions.http.function_operations import cut_page, find_place
from extensions.functions.mappings.destinations import SERVICES
from extensions.functions.mappings.event_patterns import INVALID_PATTERN, read_pattern
from extensions.functions.mappings.mapping import Mapping
from extensions.functions.mappings.mapping_service import MappingService

_OF_STREAMS: Final = {
    "StartingPosition": "start",
    "StartingPositionTimestamp": "start_time",
    "ParallelizationFactor": "lanes",
    "MaximumRetryAttempts": "retries",
    "MaximumRecordAgeInSeconds": "record_age",
    "BisectBatchOnFunctionError": "bisect",
    "TumblingWindowInSeconds": "window_seconds",
}
"""The settings that streams have and queues have not, with the fields of ``Mapping``."""
_WHERE: Final = r"(?P<region>[^:]+):(?P<account>\d{12}):"
_STREAM: Final = re.compile(rf"arn:aws:kinesis:{_WHERE}stream/(?P<name>[^/]+)(?:/consumer/.+)?")
_QUEUE: Final = re.compile(rf"arn:aws:sqs:{_WHERE}(?P<name>[^/:]+)")
_NO_QUEUE: Final = (
    "Error occurred while ReceiveMessage. SQS Error Code: AWS.SimpleQueueService.NonExistentQueue. "
    "SQS Error Message: The specified queue does not exist."
)
_DEFAULT_BATCH: Final = {"kinesis": 100, "sqs": 10}
_MOST_BATCH: Final = 10_000
_FIFO_BATCH: Final = 10
_UNWINDOWED_BATCH: Final = 10
_LEAST_AGE: Final = 60
_DESTINATIONS: Final = tuple(f"arn:aws:{each}:" for each in SERVICES)
_PAGE: Final = 100


class MappingOperations:
    """What the API does with mappings."""

    def __init__(self, mappings: MappingService, functions: Functions, streams: StreamService) -> None:
        self._mappings = mappings
        self._functions = functions
        self._streams = streams

    async def create(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        place, qualifier = find_place(scope, request)
        version = self._check_function(place, qualifier)
        source = request.get("EventSourceArn", "")
        service = await self._check_source(scope, source, version.timeout)
        if service == "kinesis" and "StartingPosition" not in request:
            raise BadValueError(
                "1 validation error detected: Value null at 'startingPosition' failed to satisfy constraint: "
                "Member must not be null."
            )
        for other in self._mappings.store.list_in(*scope):
            if (other.source, other.function, other.qualifier) == (source, place.name, qualifier):
                raise _conflict(other)
        mapping = Mapping(
            uuid=new_uuid(),
            account=place.account,
            region=place.region,
            source=source,
            function=place.name,
            qualifier=qualifier,
            modified=0.0,
            batch_size=_DEFAULT_BATCH[service],
            tags=request.get("Tags", {}),
        )
        mapping = _configure(mapping, request)
        return describe_mapping(self._mappings.create(mapping))

    async def get(self, _scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        return describe_mapping(self._mappings.store.get(request["UUID"]))

    async def list(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        found = self._mappings.store.list_in(*scope)
        if source := request.get("EventSourceArn"):
            found = [each for each in found if each.source == source]
        if "FunctionName" in request:
            place, qualifier = find_place(scope, request)
            found = [each for each in found if (each.function, each.qualifier) == (place.name, qualifier)]
        return cut_page("EventSourceMappings", list(map(describe_mapping, found)), request, most=_PAGE)

    async def update(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        before = self._find_settled(request["UUID"])
        mapping = _configure(before, {**request, "Enabled": request.get("Enabled", before.enabled)})
        if "FunctionName" in request:
            place, mapping.qualifier = find_place(scope, request)
            self._check_function(place, mapping.qualifier)
            mapping.function = place.name
        transition = "Updating"
        if mapping.enabled != before.enabled:
            transition = "Enabling" if mapping.enabled else "Disabling"
        return describe_mapping(self._mappings.update(mapping, transition=transition))

    async def delete(self, _scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        mapping = msgspec.structs.replace(self._find_settled(request["UUID"]))
        return describe_mapping(self._mappings.delete(mapping))

    def _check_function(self, place: Place, qualifier: str) -> Version:
        """The version that is meant. Raises BadValueError where there is no such function."""
        try:
            return self._functions.resolve(place, qualifier)[1]
        except NotFoundError as error:
            raise BadValueError("Function does not exist") from error

    def _find_settled(self, uuid: str) -> Mapping:
        """The mapping, once it is in no transition. Raises NotFoundError and LambdaError."""
        mapping = self._mappings.store.get(uuid)
        if mapping.state not in {"Enabled", "Disabled"}:
            text = (
                f"Cannot update the event source mapping because it is in use. It is {mapping.state}; "
                "try again when it is Enabled or Disabled."
            )
            raise LambdaError("ResourceInUseException", text, 400, Type="User")
        return mapping

    async def _check_source(self, scope: Scope, source: str, seconds: float) -> str:
        """The service of a source for a function that may take so many ``seconds``.

        Raises BadValueError for one that is not there, or is none, and for a queue that would show messages
        again while the function is still at them.
        """
        if queue := _QUEUE.fullmatch(source):
            hidden = await self._mappings.find_visibility(queue["region"], queue["name"])
            if hidden is None:
                raise BadValueError(_NO_QUEUE)
            if hidden < seconds:
                less = f"is less than Function timeout: {seconds:g} seconds"
                raise BadValueError(f"Queue visibility timeout: {hidden:g} seconds {less}")
            return "sqs"
        stream = _STREAM.fullmatch(source)
        if stream is None:
            raise BadValueError("Unrecognized event source.")
        try:
            there = Scope(stream["account"], stream["region"])
            self._streams.call("DescribeStreamSummary", {"StreamName": stream["name"]}, there)
            if "/consumer/" in source:
                self._streams.call("DescribeStreamConsumer", {"ConsumerARN": source}, scope)
        except KinesisError as error:
            raise BadValueError(f"Stream not found: {source}") from error
        return "kinesis"


def _conflict(mapping: Mapping) -> ConflictError:
    """The error for a second mapping of a source to a function, which AWS spells by the kind of source."""
    text = f'(" {mapping.source} ") and function (" {mapping.function} ")'
    if mapping.service == "sqs":
        text = f"An event source mapping with SQS arn {text}"
    else:
        text = f"The event source arn {text} provided mapping"
    way_out = "Please update or delete the existing mapping with UUID"
    return ConflictError(f"{text} already exists. {way_out} {mapping.uuid}")


def list_operations(operations: MappingOperations) -> dict[str, Any]:
    """The methods by the names of AWS's operations."""
    return {
        "CreateEventSourceMapping": operations.create,
        "GetEventSourceMapping": operations.get,
        "ListEventSourceMappings": operations.list,
        "UpdateEventSourceMapping": operations.update,
        "DeleteEventSourceMapping": operations.delete,
    }


def describe_mapping(mapping: Mapping) -> dict[str, Any]:
    """An EventSourceMappingConfiguration, with the fields that AWS shows for its kind of source."""
    shown: dict[str, Any] = {
        "UUID": mapping.uuid,
        "BatchSize": mapping.batch_size,
        "MaximumBatchingWindowInSeconds": mapping.batching_seconds,
        "EventSourceArn": mapping.source,
        "EventSourceMappingArn": mapping.arn,
        "FunctionArn": mapping.function_arn,
        "LastModified": mapping.modified,
        "State": mapping.state,
        "StateTransitionReason": mapping.reason,
        "FunctionResponseTypes": list(mapping.response_types),
    }
    if mapping.filters:
        shown["FilterCriteria"] = {"Filters": [{"Pattern": each} for each in mapping.filters]}
    if mapping.service == "sqs":
        shown["StateTransitionReason"] = "USER_INITIATED"
        if mapping.concurrency is not None:
            shown["ScalingConfig"] = {"MaximumConcurrency": mapping.concurrency}
        return shown
    failure = {"Destination": mapping.on_failure} if mapping.on_failure else {}
    shown |= {name: getattr(mapping, field) for name, field in _OF_STREAMS.items()}
    shown |= {"LastProcessingResult": mapping.result, "DestinationConfig": {"OnFailure": failure}}
    if mapping.start_time is None:
        del shown["StartingPositionTimestamp"]
    return shown


def _configure(before: Mapping, request: dict[str, Any]) -> Mapping:
    """The mapping with the settings of a request. Raises BadValueError."""
    mapping = msgspec.structs.replace(before)
    mapping.enabled = request.get("Enabled", True)
    mapping.batch_size = request.get("BatchSize", mapping.batch_size)
    mapping.batching_seconds = request.get("MaximumBatchingWindowInSeconds", mapping.batching_seconds)
    mapping.response_types = tuple(request.get("FunctionResponseTypes", mapping.response_types))
    if "FilterCriteria" in request:
        mapping.filters = tuple(each["Pattern"] for each in request["FilterCriteria"].get("Filters", ()))
        for each in mapping.filters:
            read_pattern(each)
    if "ScalingConfig" in request:
        mapping.concurrency = request["ScalingConfig"].get("MaximumConcurrency")
    for name, field in _OF_STREAMS.items():
        if name in request:
            if mapping.service != "kinesis":
                raise BadValueError(f"{name} is not supported for SQS event sources")
            setattr(mapping, field, request[name])
    if "DestinationConfig" in request:
        mapping.on_failure = request["DestinationConfig"].get("OnFailure", {}).get("Destination", "")
    _check(mapping)
    return mapping


def _check(mapping: Mapping) -> None:
    """Raise BadValueError for settings that do not go together."""
    rules = _RULES_OF_QUEUES if mapping.service == "sqs" else _RULES_OF_STREAMS
    if mapping.batch_size > _MOST_BATCH:
        raise BadValueError(f"BatchSize is {mapping.batch_size}, and may be {_MOST_BATCH}")
    for is_broken, why in rules:
        if is_broken(mapping):
            raise BadValueError(why)


_Rules: TypeAlias = tuple[tuple[Callable[[Mapping], bool], str], ...]
_RULES_OF_QUEUES: Final[_Rules] = (
    (
        lambda each: each.source.endswith(".fifo") and each.batch_size > _FIFO_BATCH,
        f"BatchSize may be {_FIFO_BATCH} for a FIFO queue",
    ),
    (
        lambda each: each.source.endswith(".fifo") and each.batching_seconds > 0,
        "Batching window is not supported for FIFO queues",
    ),
    (
        lambda each: each.batch_size > _UNWINDOWED_BATCH and not each.batching_seconds,
        "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than 10",
    ),
    (
        lambda each: bool(each.on_failure),
        "Unsupported DestinationConfig parameter for given event source mapping type.",
    ),
)
_RULES_OF_STREAMS: Final[_Rules] = (
    # A record's data is filtered as JSON alone; the body of a message may be a text.
    (
        lambda each: any(not isinstance(read_pattern(one).get("data", {}), dict) for one in each.filters),
        INVALID_PATTERN,
    ),
    (
        lambda each: 0 <= each.record_age < _LEAST_AGE,
        f"MaximumRecordAgeInSeconds may be -1, or {_LEAST_AGE} or more",
    ),
    (
        lambda each: each.start == "AT_TIMESTAMP" and each.start_time is None,
        "StartingPositionTimestamp is required for AT_TIMESTAMP",
    ),
    (
        lambda each: each.start != "AT_TIMESTAMP" and each.start_time is not None,
        "StartingPositionTimestamp is only valid for AT_TIMESTAMP",
    ),
    (
        lambda each: each.window_seconds > 0 and each.lanes > 1,
        "ParallelizationFactor must be 1 with TumblingWindowInSeconds",
    ),
    (
        lambda each: bool(each.on_failure) and not each.on_failure.startswith(_DESTINATIONS),
        f"The provided destination config DestinationConfig is invalid: its service is one of {SERVICES}",
    ),
)
