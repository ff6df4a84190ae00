"""Entitlements that are changed by the control API while subscriptions are open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from extensions.topics.settings import TopicSettings
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.topics import Access, Entitlement

ALL = Access(entitlements=(Entitlement(user="*", topic="*"),))
SMALL = Access(entitlements=(Entitlement(user="ann", topic="orders", filter="/n < 10"),))
SECONDS = 60


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Embedded]:
    file = tmp_path / "topics.yaml"
    file.write_text(
        "topics: [{kind: topic, name: orders, keys: [/id]}]\nentitlements: [{user: '*', topic: '*'}]\n"
    )
    with embedded(
        Settings(aws_port=0, control_port=0, data_dir=None, extensions=(TopicSettings(topics=file),))
    ) as running:
        yield running


@pytest.fixture
def control(sandbox: Embedded) -> Iterator[Client]:
    with Client(sandbox.control) as client:
        yield client


def joined(sandbox: Embedded, user: str) -> ClientConnection:
    return connect(f"{sandbox.urls['topics'].replace('http', 'ws')}/topics/ws?user_id={user}", proxy=None)


def ask(socket: ClientConnection, cmd: str, **headers: Any) -> dict[str, Any]:
    """The acknowledgement of a command that is done."""
    socket.send(json.dumps({"cmd": cmd, "topic": "orders", "ack_type": "processed", **headers}))
    while (heard := hear(socket))["cmd"] != "ack":
        pass
    return heard


def hear(socket: ClientConnection) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(socket.recv(timeout=SECONDS))
    return found


def test_what_may_no_longer_be_seen_leaves_the_subscription(sandbox: Embedded, control: Client) -> None:
    """An oof without a body for what is taken away; what is published later comes only as far as allowed."""
    assert control.topics.access() == ALL
    with joined(sandbox, "ann") as ann, joined(sandbox, "bob") as bob:
        for key, n in (("a", 1), ("b", 20)):
            ask(ann, "publish", data={"id": key, "n": n})
        ask(ann, "sow_and_subscribe", opts="oof", sub_id="s")
        while hear(ann)["cmd"] != "group_end":
            pass

        assert control.topics.entitle(SMALL) == control.topics.access() == SMALL
        left = hear(ann)
        assert (left["cmd"], left["reason"], left.get("data")) == ("oof", "entitlement", None)
        assert ask(bob, "publish", data={"id": "c", "n": 1})["reason"].startswith("not entitled")
        ask(ann, "publish", data={"id": "c", "n": 3})
        control.topics.entitle(ALL)
        ask(bob, "publish", data={"id": "b", "n": 21})
        assert hear(ann)["data"] == {"id": "b", "n": 21}

    kinds = [event.kind for event in control.events(limit=10_000)]
    assert kinds.count("topic.access_changed") == 2


def test_a_filter_that_is_none_changes_nothing(control: Client) -> None:
    """The refusal says whose entitlement it is and where its filter goes wrong."""
    wrong = Access(entitlements=(Entitlement(user="ann", topic="orders", filter="/n <"),))
    with pytest.raises(RefusedError, match="the entitlement of 'ann' to 'orders'"):
        control.topics.entitle(wrong)
    assert control.topics.access() == ALL


def test_a_reset_goes_back_to_the_file(control: Client) -> None:
    """The sandbox's own feeding of objects is never shut out; after a reset the file's entitlements hold."""
    control.topics.entitle(Access(entitlements=()))
    assert control.topics.records("objects").total == 0
    control.reset()
    assert control.topics.access() == ALL
