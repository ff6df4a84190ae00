"""Clients of the stack of compose/compose.yaml, which ``tests/conftest.py`` has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest

from emulator.clock import Clock
from rdss_sandbox.client import Client
from tests.compose.stack import Stack


@pytest.fixture
def control(stack: Stack) -> Iterator[Client]:
    with Client(stack.said["control"], token=stack.said["token"]) as client:
        yield client


@pytest.fixture
def aws(stack: Stack) -> Iterator[Callable[[str], Any]]:
    made: list[Any] = []

    def client(service: str) -> Any:
        made.append(
            boto3.client(
                service,
                endpoint_url=stack.said["aws"],
                region_name=stack.said["region"],
                aws_access_key_id="sandbox",
                aws_secret_access_key="sandbox",
                aws_session_token=stack.said["token"],
            )
        )
        return made[-1]

    yield client
    for each in made:
        each.close()
