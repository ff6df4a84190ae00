"""A sandbox with the service of functions, asked by boto3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from extensions.functions.engine.function_code import zip_files

ROLE = "arn:aws:iam::000000000000:role/functions"


class Aws:
    """Clients of one sandbox."""

    def __init__(self, emulator: Embedded) -> None:
        self.emulator = emulator
        self.lambda_ = self.client("lambda")

    def client(self, service: Any) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.emulator.aws,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def make(self, name: str, source: str, file: str = "h.py", **settings: Any) -> dict[str, Any]:
        """Create a function of one file, whose handler is ``handler``."""
        usual = {
            "Runtime": "python3.11",
            "Handler": "h.handler",
            "Role": ROLE,
            "Code": {"ZipFile": zip_files({file: source.encode()})},
        }
        made: dict[str, Any] = self.lambda_.create_function(FunctionName=name, **{**usual, **settings})
        return made

    def invoke(self, name: str, event: bytes = b"{}", **named: Any) -> tuple[bytes, str]:
        """What the function answered, and its error."""
        answer = self.lambda_.invoke(FunctionName=name, Payload=event, **named)
        return answer["Payload"].read(), answer.get("FunctionError", "")


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    """Clients of a sandbox in memory, which the tests of a file share."""
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, amqp="none")) as emulator:
        yield Aws(emulator)
