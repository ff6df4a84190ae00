"""An AWS port on a thread of its own, for clients that block."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import boto3
import httpx
import pytest

from emulator.clock import Clock
from emulator.events import Events
from emulator.http.server import Server, serve
from emulator.kinesis import Engine
from emulator.listeners.aws.aws_app import AwsApp
from emulator.listeners.aws.engine_backend import EngineBackend
from tests.emulator.loop_thread import LoopThread

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

SIGNED = {
    "authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/eu-west-2/kinesis/aws4_request, "
    "SignedHeaders=host, Signature=0",
    "x-amz-date": "20260101T000000Z",
}


class Endpoint:
    """The AWS port over a fresh engine; ``interceptors`` may be changed while it runs."""

    def __init__(self, thread: LoopThread) -> None:
        self.clock = Clock()
        self.events = Events(self.clock)
        self.engine = Engine(None, self.clock, self.events)
        self.interceptors: list[Any] = []
        self.app = AwsApp(EngineBackend(self.engine, self.clock), self.events, self.interceptors, "test")
        self._thread = thread
        self._clients: list[Any] = []
        self.failures: list[Exception] = []
        self._server: Server = thread.run(serve(self.app, "127.0.0.1", 0, on_failure=self.failures.append))
        self.url, self.port = self._server.url, self._server.port
        self.http = httpx.Client(base_url=self.url, trust_env=False, timeout=30)

    def client(self, service: str, **settings: Any) -> Any:
        """A boto3 client, closed with the endpoint."""
        client = boto3.client(
            service,
            endpoint_url=self.url,
            region_name="eu-west-2",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            **settings,
        )
        self._clients.append(client)
        return client

    def headers(self, operation: str, content_type: str = "application/x-amz-json-1.1") -> dict[str, str]:
        """The headers of a raw request for an operation."""
        return {**SIGNED, "x-amz-target": f"Kinesis_20131202.{operation}", "content-type": content_type}

    def close(self) -> None:
        for client in (self.http, *self._clients):
            client.close()
        self._thread.run(self._server.close(0.2))
        self.engine.close()
        if "moto.moto_api" in sys.modules:
            # What a test leaves in moto is there for the next one, and its open files are found much later.
            from moto.moto_api._internal.models import moto_api_backend

            moto_api_backend.reset()


@pytest.fixture(scope="session")
def loop_thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


@pytest.fixture
def endpoint(loop_thread: LoopThread) -> Iterator[Endpoint]:
    running = Endpoint(loop_thread)
    yield running
    running.close()
    assert not running.failures


@pytest.fixture
def kinesis(endpoint: Endpoint) -> KinesisClient:
    """A boto3 client of the endpoint."""
    return endpoint.client("kinesis")


@pytest.fixture
def served(request: pytest.FixtureRequest, loop_thread: LoopThread) -> Iterator[Callable[..., Server]]:
    """Serve any ASGI application on a free port until the test ends, by default as the AWS port does."""
    servers: list[Server] = []
    listen = getattr(request, "param", serve)

    def start(app: Any, **settings: Any) -> Server:
        servers.append(loop_thread.run(listen(app, "127.0.0.1", 0, **settings)))
        return servers[-1]

    yield start
    for server in servers:
        loop_thread.run(server.close(0.2))
