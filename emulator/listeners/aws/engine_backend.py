"""The stream engine of this process as the backend of Kinesis requests."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.clock import Clock
from emulator.kinesis import Engine, Scope
from emulator.listeners.aws.interception import FastPath, Request, Response
from emulator.listeners.aws.subscribe_to_shard import OpenSubscriptions


class EngineBackend:
    """Answers every operation with the engine, and the hot ones from bytes to bytes."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._subscriptions = OpenSubscriptions(engine, clock)
        self.fast_paths: Mapping[str, FastPath] = {
            "PutRecord": engine.put_record_json,
            "PutRecords": engine.put_records_json,
            "GetRecords": engine.get_records_json,
        }

    async def call(self, operation: str, request: Request, scope: Scope) -> Response:
        """Answer in botocore's shapes. Raises KinesisError."""
        response = self._engine.call(operation, request, scope)
        if operation == "SubscribeToShard":
            return {"EventStream": self._subscriptions.events(response["EventStream"])}
        return response
