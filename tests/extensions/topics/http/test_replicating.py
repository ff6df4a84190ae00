"""Two processes, one downstream of the other, killed at any moment: what was persisted is at both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from emulator.clock import Clock
from emulator.events import Events
from emulator.rng import Chance
from extensions.topics.engine.topics_engine import TopicsEngine
from tests.extensions.topics.engine.topics_world import NOON
from tests.extensions.topics.http.replicating_process import configuration
from tests.extensions.topics.http.topics_port import SECONDS, Port
from tests.waiting import wait_until

ROOT = Path(__file__).parents[4]
PROCESS = Path(__file__).with_name("replicating_process.py")
SEED = 20_261_122
MACHINE = Clock()


class Sandbox:
    """A process of its own, that can be killed and started again where it was."""

    def __init__(self, directory: Path, *downstream: str) -> None:
        self.directory = directory
        self.port = "0"
        self._downstream = downstream
        self.start()

    def start(self) -> None:
        command = [sys.executable, str(PROCESS), str(self.directory), self.port, *self._downstream]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        self.port = self.process.stdout.readline().strip()
        assert self.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def log(self) -> list[int]:
        """The numbers that its log has, in order, read when it is dead."""
        clock = Clock(frozen_at=NOON)
        topics = TopicsEngine(self.directory / "messages", clock, Events(clock), configuration().definitions)
        try:
            found = topics.history("orders", limit=10**9)
            return [json.loads(bytes(one.data))["id"] for one in found]
        finally:
            topics.close()

    def persist_something_else(self) -> None:
        """Publish to a topic that stays here, until it is acknowledged; that takes a second."""
        command = {"cmd": "publish", "topic": "local", "data": 1, "ack_type": "persisted", "cmd_id": "p"}
        assert [each["ack_type"] for each in self.ask(command)] == ["processed", "persisted"]

    def ask(self, *commands: dict[str, Any]) -> list[dict[str, Any]]:
        answer = httpx.post(
            f"{self.url}/topics/commands", json=list(commands), timeout=SECONDS, trust_env=False
        )
        return list(answer.json()["messages"])


class Publisher:
    """Publishes numbers to ``sandbox``, after a death from behind the last that was persisted, as clients do.

    ``persisted`` is the last number up to which everything was acknowledged so.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.persisted = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def reached(self, number: int) -> None:
        """Wait until so much is persisted."""
        wait_until(lambda: self.persisted >= number)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                with connect(f"ws://127.0.0.1:{self._sandbox.port}/topics/ws?client_name=writer") as socket:
                    self._publish(socket)
            except (OSError, ConnectionClosed, TimeoutError):
                MACHINE.wait(0.05)

    def _publish(self, socket: Any) -> None:
        numbers = count(self.persisted + 1)
        while not self._over.is_set():
            for number in islice(numbers, 20):
                command = {"cmd": "publish", "topic": "orders", "data": {"id": number}}
                socket.send(json.dumps(command | {"seq": number, "ack_type": "persisted"}))
            try:
                said = json.loads(socket.recv(timeout=0.05))
            except TimeoutError:
                continue
            if said["status"] == "success":
                self.persisted = max(self.persisted, said["seq"])


@contextmanager
def two(directory: Path, mode: str) -> Iterator[tuple[Sandbox, Sandbox]]:
    """An upstream and its downstream, both dead in the end."""
    down = Sandbox(directory / "down")
    up = None
    try:
        up = Sandbox(directory / "up", mode, down.url)
        yield up, down
    finally:
        down.kill()
        if up is not None:
            up.kill()


@pytest.mark.parametrize(
    "first", [["down"], pytest.param(["up", "down", "up"], marks=pytest.mark.slow)], ids=["once", "often"]
)
def test_what_was_persisted_is_downstream_whoever_is_killed(tmp_path: Path, first: list[str]) -> None:
    """With a synchronous downstream nothing that was acknowledged is missing there, and nothing is twice.

    Both are killed, one before the other, and looked at before they see each other again.
    """
    draws = Chance(SEED).draws(str(first))
    with two(tmp_path, "sync") as (up, down):
        sandboxes = {"up": up, "down": down}
        with Publisher(up) as publisher:
            for killed in first:
                publisher.reached(publisher.persisted + draws.randint(1, 200))
                sandboxes[killed].kill()
                if killed == "down":
                    # Time enough for what was published meanwhile to be acknowledged, if it were.
                    up.persist_something_else()
                    up.persist_something_else()
                (up if killed == "down" else down).kill()
                acknowledged = publisher.persisted
                theirs = down.log()
                assert theirs == sorted(set(theirs)), "something is twice"
                assert set(range(1, acknowledged + 1)) <= set(theirs), "something is missing"
                down.start()
                up.start()
            publisher.reached(publisher.persisted + 1)
        up.kill()
        down.kill()
        assert down.log() == list(range(1, len(down.log()) + 1))
        assert len(down.log()) >= publisher.persisted


@pytest.mark.slow
def test_an_asynchronous_downstream_is_brought_up_when_it_is_back(tmp_path: Path) -> None:
    """Its death holds up nobody, and what was published meanwhile comes, once."""
    with two(tmp_path, "async") as (up, down):
        with Publisher(up) as publisher:
            publisher.reached(1)
            down.kill()
            publisher.reached(publisher.persisted + 100)
            down.start()
            publisher.reached(publisher.persisted + 1)
        wanted = publisher.persisted

        def there() -> bool:
            found = down.ask(
                {"cmd": "sow", "topic": "orders", "top_n": 0, "ack_type": "stats", "cmd_id": "q"}
            )
            return any(each.get("matches", 0) >= wanted for each in found)

        wait_until(there)
        down.kill()
        assert down.log() == list(range(1, len(down.log()) + 1))


async def test_what_is_no_shipment_is_refused(port: Port) -> None:
    """With what is wrong with it, and nothing taken over."""
    for body, why in (
        (b"{", "bad_shipment"),
        (b'{"source": 1}', "bad_shipment"),
        (b" " * ((1 << 25) + 1), "too_large"),
    ):
        answer = await port.http.post("/topics/replication", content=body)
        assert (answer.status_code in {400, 413}, answer.json()["error"]["code"]) == (True, why)
