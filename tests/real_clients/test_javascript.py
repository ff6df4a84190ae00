"""The AWS SDK for JavaScript v3, unmodified, with AWS_ENDPOINT_URL set."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from tests.real_clients.conftest import Sandbox

pytestmark = pytest.mark.real_client

PROGRAM = Path(__file__).with_name("javascript_client.mjs")


def test_put_split_read_and_subscribe(sandbox: Sandbox, javascript: Path) -> None:
    """Every record once and in order over a split, polled and pushed, and errors by their names."""
    ran = subprocess.run(
        ["node", PROGRAM],
        cwd=javascript,
        env=sandbox.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    before = [f"before-{i}" for i in range(20)]
    assert seen["failed"] == 0
    assert seen["parent"] == before
    assert sorted(seen["children"]) == sorted(f"after-{i}" for i in range(20))
    assert seen["pushed"] == before
    assert seen["childShards"] == 2
    assert seen["error"] == "ResourceNotFoundException"
    assert datetime.fromisoformat(seen["created"]).year >= 2026
