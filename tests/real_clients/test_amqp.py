"""Clients of AMQP that others wrote, unmodified, against the sandbox's own broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdss_sandbox.process import sandbox_process
from tests.real_clients import install
from tests.real_clients.sandbox_process import installed

pytestmark = pytest.mark.real_client
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with sandbox_process() as running:
        yield running.amqp


def run(*command: str | Path, **environment: str) -> str:
    ran = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
        env={**os.environ, **environment},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_aio_pika(url: str) -> None:
    """Confirms, returns, prefetch, an iterator, a dead letter and a refusal."""
    programs = installed("aio-pika", lambda: install.python_environment("aio-pika", install.AIO_PIKA))
    found = json.loads(run(programs / "python", HERE / "aio_pika_client.py", url))
    assert found == {
        "returned": "Basic.Return",
        "came": [[str(number), f"order.{number}", number] for number in range(4)],
        "letter": ["1", "rejected"],
        "refused": "NOT_FOUND - no queue 'missing' in vhost '/'",
    }


def test_pika_asynchronous(url: str) -> None:
    """Confirms, a return, a prefetch that is kept, and a refusal, each by a callback of SelectConnection."""
    found = json.loads(run(sys.executable, HERE / "pika_asynchronous_client.py", url))
    assert found == {
        "confirmed": 21,
        "returned": [[312, "NO_ROUTE", "lost"]],
        "came": list(range(20)),
        "most_out": 5,
        "left": 0,
        "refused": [404, "NOT_FOUND - no queue 'missing' in vhost '/'"],
        "closed": 200,
    }


def test_celery(url: str, tmp_path: Path) -> None:
    """A worker runs a task and one that is tried again, over kombu and py-amqp; results come by rpc."""
    programs = installed("Celery", lambda: install.python_environment("celery", install.CELERY))
    said = run(programs / "python", HERE / "celery_tasks.py", AMQP_URL=url, HOME=str(tmp_path))
    assert said.split() == ["5", "1"]


def test_amqplib_asks_and_is_answered(url: str) -> None:
    """By direct reply-to, as in the JavaScript tutorial of remote calls: two questions at once."""
    modules = installed("amqplib", lambda: install.node_packages("amqplib", *install.AMQPLIB))
    found = json.loads(run("node", HERE / "amqplib_rpc.mjs", url, modules.parent))
    assert found == {"answers": {"10": "55", "20": "6765"}, "direct": True}


def test_amqplib(url: str) -> None:
    """Confirms, headers, priorities, prefetch, a refusal, and that its queue is gone, from Node."""
    modules = installed("amqplib", lambda: install.node_packages("amqplib", *install.AMQPLIB))
    found = json.loads(run("node", HERE / "amqplib_client.mjs", url, modules.parent))
    assert found["came"] == ["5", "3", "1"]
    assert (found["left"], found["cancelled"]) == (0, True)
    assert "404 (NOT-FOUND) with message \"NOT_FOUND - no queue 'missing' in vhost '/'\"" in found["refused"]
