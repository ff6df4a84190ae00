"""A Kinesis and S3 endpoint on the real engine, and one Spark session for all of these tests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis.engine import Engine
from emulator.listeners.aws import AwsApp
from emulator.listeners.http import serve


class _EngineBackend:
    """The engine as the listener wants it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.fast_paths: dict[str, Any] = {
            "PutRecord": engine.put_record_json,
            "PutRecords": engine.put_records_json,
            "GetRecords": engine.get_records_json,
        }

    async def call(self, operation: str, request: dict[str, Any], scope: Any) -> dict[str, Any]:
        return self._engine.call(operation, request, scope)


class Endpoint:
    """An AWS port in this process; ``url`` is where clients reach it."""

    def __init__(self) -> None:
        clock = Clock()
        events = Events(clock)
        self.engine = Engine(None, clock, events)
        self._app = AwsApp(_EngineBackend(self.engine), events)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(serve(self._app, "127.0.0.1", 0), self._loop).result(10)
        self.url = self._server.url

    def client(self, service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._server.close(), self._loop).result(10)
        self._app.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Endpoint]:
    running = Endpoint()
    yield running
    running.close()


@pytest.fixture(scope="session")
def spark(monkeypatch_session: pytest.MonkeyPatch) -> Iterator[Any]:
    from sandbox.pipeline.session import open_session

    session = open_session("local[2]", memory="1g")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def monkeypatch_session() -> Iterator[pytest.MonkeyPatch]:
    """Credentials for every process that Spark starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_REGION", "us-east-1")
        yield patch
