"""The stream engine of this process as the backend of Kinesis requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from emulator.clock import Clock
from emulator.kinesis import Engine, Scope
from emulator.kinesis.group_commit import GroupCommit
from emulator.listeners.aws.interception import FastPath, Request, Response
from emulator.listeners.aws.subscribe_to_shard import OpenSubscriptions

_Answer = TypeVar("_Answer")


class EngineBackend:
    """Answers every operation with the engine, and the hot ones from bytes to bytes."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._subscriptions = OpenSubscriptions(engine, clock)
        self.commits = engine.commits
        self.fast_paths: Mapping[str, FastPath] = {
            "PutRecord": engine.put_record_json,
            "PutRecords": engine.put_records_json,
            "GetRecords": engine.get_records_json,
        }
        if self.commits is not None:
            gather = partial(_gather, self.commits)
            self.fast_paths = {name: partial(gather, path) for name, path in self.fast_paths.items()}

    async def call(self, operation: str, request: Request, scope: Scope) -> Response:
        """Answer in botocore's shapes. Raises KinesisError."""
        if self.commits is None:
            response = self._engine.call(operation, request, scope)
        else:
            response = _gather(self.commits, self._engine.call, operation, request, scope)
            await self.commits.wait()
        if operation == "SubscribeToShard":
            return {"EventStream": self._subscriptions.events(response["EventStream"])}
        return response


def _gather(commits: GroupCommit, call: Callable[..., _Answer], *given: object) -> _Answer:
    with commits.gathering():
        return call(*given)
