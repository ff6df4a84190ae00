"""``sandbox topic`` with messages that are not JSON, and with a second sandbox downstream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock
from emulator.settings.settings import Settings
from extensions.topics.settings import TopicSettings
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.topics import Downstream
from tests.waiting import wait_until

Ask = Callable[..., Any]
MACHINE = Clock()
UPSTREAM = """
[[topics]]
kind = "topic"
name = "orders"
keys = ["/id"]
logged = true
message_type = "nvfix"
separator = "|"
downstreams = ["mirror"]

[[downstreams]]
name = "mirror"
url = "http://127.0.0.1:1"
mode = "sync"
"""
DOWNSTREAM = """
[[topics]]
kind = "topic"
name = "orders"
keys = ["/id"]
logged = true
message_type = "nvfix"
separator = "|"

[[topics]]
kind = "topic"
name = "blobs"
keys = "publisher"
message_type = "binary"
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], Embedded]]:
    """A sandbox with topics as a file says."""
    running = []

    def begin(text: str) -> Embedded:
        file = tmp_path / f"{len(running)}.toml"
        file.write_text(text)
        settings = Settings(
            aws_port=0, control_port=0, data_dir=None, seed=7, extensions=(TopicSettings(topics=file),)
        )
        context = embedded(settings)
        running.append(context)
        return context.__enter__()

    yield begin
    for context in reversed(running):
        context.__exit__(None, None, None)


def test_messages_of_every_type(start: Callable[[str], Embedded], sandbox: Ask) -> None:
    """A text is published as it is, and comes back as the string that carries it."""
    at = ("--control", start(DOWNSTREAM).control)
    assert sandbox("topic", "publish", "orders", "--as", "nvfix", "id=1|n=2|", *at).code == 0
    assert sandbox("topic", "delta", "orders", "--as", "nvfix", "id=1|m=3", *at).code == 0
    found = sandbox("topic", "sow", "orders", "--filter", "/m = 3 AND /n = 2", *at)
    assert json.loads(found.out) == "id=1|n=2|m=3|"
    assert sandbox("topic", "publish", "blobs", "--as", "binary", "--sow-key", "k", "é", *at).code == 0
    assert json.loads(sandbox("topic", "sow", "blobs", *at).out) == "w6k="
    wrong = sandbox("topic", "publish", "orders", '{"id": 1}', *at)
    assert (wrong.code, "messages are nvfix" in wrong.err) == (2, True)
    listed = json.loads(sandbox("topic", "list", "--json", *at).out)["topics"]
    assert {each["name"]: each["message_type"] for each in listed} == {
        "blobs": "binary",
        "objects": "json",
        "orders": "nvfix",
    }


@pytest.mark.slow
def test_a_downstream_is_told_of_and_can_be_another(start: Callable[[str], Embedded], sandbox: Ask) -> None:
    """The command, the control API and the events say how it stands; what waits for it is said to wait."""
    upstream = start(UPSTREAM)
    at = ("--control", upstream.control)
    waiting = sandbox("topic", "publish", "orders", "--as", "nvfix", "id=1", *at)
    assert (waiting.code, waiting.err) == (0, "sandbox: 1 published, 1 of them not persisted yet\n")
    shown = sandbox("topic", "list", *at).out
    assert "mirror sync down, 1 behind" in shown
    mirror = start(DOWNSTREAM)
    with Client(upstream.control) as client:
        with pytest.raises(RefusedError, match="there is no downstream 'mirror'"):
            client.topics.point(Downstream(name="other", url=mirror.urls["topics"]))
        client.topics.point(Downstream(name="mirror", url=mirror.urls["topics"]))

        def there() -> bool:
            (link,) = client.topics.downstreams()
            return (link.state, link.behind) == ("up", 0)

        wait_until(there)
        assert (
            sandbox("topic", "publish", "orders", "--as", "nvfix", "id=2", *at).err
            == "sandbox: 1 published\n"
        )
        kinds = [event.kind for event in client.events() if event.kind.startswith("topic.")]
    assert kinds[:4] == [
        "topic.link_down",
        "topic.downstreams_changed",
        "topic.link_up",
        "topic.link_caught_up",
    ]
    found = sandbox("topic", "sow", "orders", "--control", mirror.control)
    assert [json.loads(line) for line in found.out.splitlines()] == ["id=1", "id=2"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (UPSTREAM.replace('name = "mirror"', 'name = "m"'), "there is no downstream 'mirror'"),
        ('[[topics]]\nkind = "topic"\nname = "objects"\nmessage_type = "nvfix"\n', "fed with JSON"),
        ('[[topics]]\nkind = "topic"\nname = "a"\nmessage_type = "xml"\n', "xml"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, process: Ask, text: str, why: str) -> None:
    """The sandbox does not start, and names the file."""
    (tmp_path / "topics.toml").write_text(text)
    ran = process("up", "--topics", "topics.toml", "--aws-port", "0", "--control-port", "0", "--amqp", "none")
    assert (ran.code, why in ran.err, "topics.toml" in ran.err) == (2, True, True), ran.err
