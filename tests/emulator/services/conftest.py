"""A sandbox on a directory that outlives it, and clients of its services."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings

Client = Callable[[str], Any]


class Running:
    """A sandbox and its clients, of which each service has one."""

    def __init__(self, emulator: Embedded) -> None:
        self.emulator = emulator
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = client_of(self.emulator.aws, service)
        return self._clients[service]

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event.fields for event in self.emulator.components.events.since(0) if event.kind == kind]


def client_of(url: str, service: str) -> Any:
    return boto3.client(
        service,  # type: ignore[call-overload]
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )


@contextmanager
def run(data_dir: Path | None, **more: Any) -> Iterator[Running]:
    settings = Settings(data_dir=data_dir, aws_port=0, control_port=0, amqp="none", **more)
    with embedded(settings) as emulator:
        yield Running(emulator)


Start = Callable[..., AbstractContextManager[Running]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Run a sandbox on the same directory each time."""

    def starting(**more: Any) -> AbstractContextManager[Running]:
        return run(tmp_path / "data", **more)

    return starting
