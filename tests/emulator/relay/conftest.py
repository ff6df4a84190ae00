"""Upstreams to be in front of: our own engine, and somebody else's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto.moto_api._internal.models import moto_api_backend
from moto.server import ThreadedMotoServer

from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine
from emulator.listeners.aws.aws_app import AwsApp
from emulator.listeners.aws.engine_backend import EngineBackend
from tests.emulator.loop_thread import LoopThread

UPSTREAMS = ("engine", "moto")
MOTO_ACCOUNT = "123456789012"


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
