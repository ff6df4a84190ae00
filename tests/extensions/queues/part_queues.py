"""Queues in a sandbox in which something of everything is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from emulator.assembly.components import Components
from emulator.assembly.embedded import Embedded
from extensions.queues.engine import QueueEngine
from rdss_sandbox.client import Client
from tests.extensions.parts import Part
from tests.extensions.queues.wrong_workers import MISTAKES

PROJECT = {"Client-ID": "3381af92-2b9e-11e3-b191-71861300734c", "X-Project-ID": "p"}


class QueuePart(Part):
    component = QueueEngine
    files = ("queues.log", "queue-positions.log")
    kept_names = ("queue jobs", "queue error")
    logs = ("queues.log",)
    refusal = "503"
    mistakes = MISTAKES

    def fill(self, emulator: Embedded) -> None:
        with httpx.Client(trust_env=False, headers=PROJECT) as client:
            url = f"{emulator.urls['queues']}/v2/queues"
            client.put(f"{url}/jobs").raise_for_status()
            for number in range(5):
                _post(client, url, number).raise_for_status()
            client.get(f"{url}/error/messages", headers={"X-Project-ID": "rdss"})

    def change(self, emulator: Embedded) -> None:
        with httpx.Client(trust_env=False, headers=PROJECT) as client:
            _post(client, f"{emulator.urls['queues']}/v2/queues", "changed").raise_for_status()

    def read(self, control: Client) -> Mapping[str, object]:
        queues = control.queues.list().queues
        return {"queues": [(each.project, each.name, each.total) for each in queues if each.name == "jobs"]}

    def kept(self, components: Components) -> Mapping[str, Sequence[bytes]]:
        queues = components.extensions["queues"].engine.state.queues.values()
        return {
            f"queue {queue.at.name}": [bytes(str(each.body), "utf-8") for each in queue.messages]
            for queue in queues
        }

    def store(self, emulator: Embedded, client: httpx.Client) -> httpx.Response:
        return _post(client, f"{emulator.urls['queues']}/v2/queues", "b" * 9999)


def _post(client: httpx.Client, url: str, body: Any) -> httpx.Response:
    messages = {"messages": [{"body": body, "ttl": 86_400}]}
    return client.post(f"{url}/jobs/messages", json=messages, headers=PROJECT)


PART = QueuePart()
