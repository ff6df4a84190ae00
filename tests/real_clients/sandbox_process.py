"""A sandbox in a process of its own, for clients in other languages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

REGION = "us-east-1"


class Sandbox:
    """A running ``sandbox up``: ``url`` is its AWS port, ``queues`` its messaging port, ``control`` its own.

    ``environment`` is what an AWS client's process needs.
    """

    def __init__(self, folder: Path, aws_port: int = 0) -> None:
        ports = ["--aws-port", str(aws_port), "--control-port", "0"]
        command = [sys.executable, "-m", "sandbox", "up", "--json", *ports]
        self._process = subprocess.Popen(
            [*command, "--queues-port", "0", "--amqp", "none", "--topology", "none", "--data-dir", "data"],
            cwd=folder,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        running = json.loads(self._process.stdout.readline())
        self.url: str = running["aws"]
        self.queues: str = running["ports"]["queues"]
        self.control: str = running["control"]
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def client(self, service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def kill(self) -> None:
        """End it as ``kill -9`` does. Another ``Sandbox`` of its folder finds what it acknowledged."""
        self._process.kill()
        self._process.communicate(timeout=60)

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=60)


def installed(what: str, make: Callable[[], Path]) -> Path:
    """Where a client is, which is installed if it is not; a test that cannot have it is skipped."""
    try:
        return make()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"{what} is not installed and cannot be ({error}): python -m tests.real_clients.install")
