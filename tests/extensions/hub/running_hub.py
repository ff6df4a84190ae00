"""A hub in a process, as people start it, and the clients of those who have a seat there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import httpx
import pika
from botocore.config import Config

from extensions.hub.hub_api import HubSeats, NewSeat, SeatView
from extensions.hub.people import Quota
from rdss_sandbox.client import Client
from rdss_sandbox.transports import Blocking
from tests.waiting import wait_until

ONCE = Config(retries={"total_max_attempts": 1})


@dataclass
class RunningHub:
    """A hub: its addresses, its admin's token, the process that forks and the folder that it runs in."""

    url: str
    amqp_port: int
    admin: str
    pid: int
    folder: Path

    trust: str | None = None
    opened: ExitStack = field(default_factory=ExitStack)

    @cached_property
    def seats(self) -> HubSeats[Blocking]:
        transport = Blocking(self.url, self.admin, self.trust)
        self.opened.enter_context(transport.http)
        return HubSeats(transport)

    def add(self, name: str, **quota: int) -> SeatView:
        return self.seats.add(name, NewSeat(Quota(**quota)) if quota else None)

    def find(self, name: str) -> SeatView:
        return next(each for each in self.seats.list().seats if each.name == name)

    def aws(self, seat: SeatView, service: str = "kinesis", config: Config = ONCE) -> Any:
        """A client of AWS's SDK whose access key is the person's token."""
        client = boto3.client(
            service,
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=seat.token,
            aws_secret_access_key="test",
            config=config,
            verify=self.trust,
        )
        self.opened.callback(client.close)
        return client

    def control(self, seat: SeatView, token: str | None = None) -> Client:
        client = Client(f"{self.url}/seat/{seat.name}", token=token or seat.token, trust=self.trust)
        return self.opened.enter_context(client)

    def broker(self, user: str, password: str, vhost: str = "/") -> pika.BlockingConnection:
        login = pika.PlainCredentials(user, password)
        return pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", self.amqp_port, vhost, login))

    def wait_until_asleep(self, name: str) -> None:
        wait_until(lambda: self.find(name).state == "asleep")

    def get(self, path: str, token: str, host: str = "") -> httpx.Response:
        """What a program gets that has a token, and calls the hub by the name ``host``."""
        headers = {"authorization": f"Bearer {token}", **({"host": host} if host else {})}
        return httpx.get(f"{self.url}{path}", headers=headers, trust_env=False)

    def children(self) -> list[int]:
        """The processes of the hub and of the seats that are awake."""
        said = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii")
        return [int(each) for each in said.split()]

    @property
    def hub_pid(self) -> int:
        """The process with the ports, which is no seat."""
        seats = {each.pid for each in self.seats.list().seats}
        return next(each for each in self.children() if each not in seats)


@contextmanager
def start_hub(folder: Path, *options: str) -> Iterator[RunningHub]:
    """Start ``sandbox hub up`` in a folder, on free ports; it ends with the context."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SANDBOX_", "AWS_"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "sandbox", "hub", "up", "--json", "--port", "0", "--amqp-port", "0", *options],
        cwd=folder,
        env=kept,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process:
        try:
            running = json.loads(process.stdout.readline())
            port = urlsplit(running["amqp"]).port
            assert port is not None
            found = RunningHub(
                running["control"], port, running["token"], process.pid, folder, running["trust"]
            )
            with found.opened:
                yield found
        finally:
            process.terminate()
            process.wait(30)


def run_sandbox(
    *arguments: str, folder: Path, given: str = "", variables: Mapping[str, str] | None = None
) -> str:
    """What a command of ``sandbox`` prints, which must succeed."""
    return subprocess.run(
        [sys.executable, "-m", "sandbox", *arguments],
        cwd=folder,
        env={**os.environ, **(variables or {})},
        input=given,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
