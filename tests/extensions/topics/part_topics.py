"""Topics in a sandbox in which something of everything is kept."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import msgspec

from emulator.assembly.components import Components
from emulator.assembly.embedded import Embedded
from extensions.topics.engine.commands import Publish, Sow
from extensions.topics.engine.outgoing_messages import SowMessage
from extensions.topics.settings import TopicSettings
from extensions.topics.topics_service import TopicService
from rdss_sandbox.client import Client
from tests.extensions.parts import Part

_FILE = """
[[topics]]
kind = "topic"
name = "prices"
keys = ["/id"]
expiration = 0
logged = true
"""


class TopicPart(Part):
    component = TopicService
    files = ("topics/messages/0", "topics/messages/replication/identity.log")
    kept_names = ("topic prices",)
    refusal = "not stored"

    def __init__(self) -> None:
        self._numbers = itertools.count(1000)

    def settings(self, folder: Path) -> Sequence[object]:
        path = folder / "topics.toml"
        path.write_text(_FILE)
        return (TopicSettings(topics=path),)

    def fill(self, emulator: Embedded) -> None:
        assert emulator.components.extensions["topics"].service.open().replication.identity
        _publish(emulator, *({"id": number, "state": "filled"} for number in range(20)))

    def change(self, emulator: Embedded) -> None:
        _publish(emulator, {"id": 1, "state": "changed"})

    def read(self, control: Client) -> Mapping[str, object]:
        return {
            "topics": [msgspec.json.decode(each.data) for each in control.topics.records("prices").records]
        }

    def kept(self, components: Components) -> Mapping[str, Sequence[bytes]]:
        answers: list[Any] = []
        session = components.extensions["topics"].service.open().session("bob", answers.append)
        session.execute(Sow("prices"))
        records = [each for answer in answers if isinstance(answer, SowMessage) for each in answer.data]
        session.close()
        return {"topic prices": [bytes(each.data) for each in records]}

    def store(self, emulator: Embedded, client: httpx.Client) -> httpx.Response:
        data = {"id": next(self._numbers), "x": "y" * 9999}
        command = {"cmd": "publish", "topic": "prices", "data": data, "ack_type": "processed,persisted"}
        return client.post(f"{emulator.urls['topics']}/topics/commands", json=command)


def _publish(emulator: Embedded, *records: Mapping[str, object]) -> None:
    session = emulator.components.extensions["topics"].service.session("ada", lambda _: None)
    for each in records:
        session.execute(Publish("prices", data=msgspec.Raw(msgspec.json.encode(each)), ack_type="persisted"))
    session.close()


PART = TopicPart()
