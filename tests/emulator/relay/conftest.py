"""Upstreams to be in front of: our own engine, and somebody else's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import boto3
import pytest
from moto.moto_api._internal.models import moto_api_backend
from moto.server import ThreadedMotoServer

from emulator.clock import Clock
from emulator.events import Events
from emulator.http.server import Server, serve
from emulator.kinesis import Engine
from emulator.listeners.aws.aws_app import AwsApp
from emulator.listeners.aws.engine_backend import EngineBackend

UPSTREAMS = ("engine", "moto")
MOTO_ACCOUNT = "123456789012"


class LoopThread:
    """An event loop that runs beside the test, and the servers on it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._servers: list[Server] = []

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def serve(self, app: Any, port: int = 0) -> Server:
        self._servers.append(self.run(serve(app, "127.0.0.1", port)))
        return self._servers[-1]

    def close(self) -> None:
        for server in self._servers:
            self.run(server.close(0.2))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@pytest.fixture
def loop_thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


@pytest.fixture
def client() -> Iterator[Callable[..., Any]]:
    """Makes boto3 clients of an endpoint that are closed after the test."""
    made: list[Any] = []

    def make(service: str, endpoint: str, **settings: Any) -> Any:
        keys = {"aws_access_key_id": "000000000000", "aws_secret_access_key": "any", **settings}
        made.append(boto3.client(service, endpoint_url=endpoint, region_name="us-east-1", **keys))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def engine_url(loop_thread: LoopThread) -> Iterator[str]:
    """The AWS port over an engine of this test, without audit of its own."""
    clock = Clock()
    events = Events(clock)
    engine = Engine(None, clock, events)
    yield loop_thread.serve(AwsApp(EngineBackend(engine, clock), events)).url
    engine.close()
    moto_api_backend.reset()


@pytest.fixture
def moto_url() -> Iterator[str]:
    """moto's server, with its own Kinesis."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()
    moto_api_backend.reset()


@pytest.fixture(params=UPSTREAMS)
def upstream(request: pytest.FixtureRequest) -> str:
    """Each upstream in turn, by its URL."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url
