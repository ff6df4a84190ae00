"""``sandbox topic`` against a running sandbox."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from extensions.topics.settings import TopicSettings
from rdss_sandbox.client import Client

Ask = Callable[..., Any]


def test_records_are_published_changed_asked_for_and_deleted(ask: Ask) -> None:
    """The state of the world as a shell sees it: one record a line, counts beside it."""
    published = ask("topic", "publish", "objects", '{"objectUUID":"a","n":1}', '{"objectUUID":"b","n":2}')
    assert (published.code, published.out, published.err) == (0, "", "sandbox: 2 published\n")
    assert ask("topic", "delta", "objects", '{"objectUUID":"a","m":3}', "--correlation-id", "abc").code == 0
    found = ask("topic", "sow", "objects", "--orderby", "/n DESC")
    assert [json.loads(line) for line in found.out.splitlines()] == [
        {"objectUUID": "b", "n": 2},
        {"objectUUID": "a", "n": 1, "m": 3},
    ]
    (line,) = ask("topic", "sow", "objects", "--filter", "/m = 3", "--keys").out.splitlines()
    record = json.loads(line)
    assert (record["correlation_id"], record["data"]["m"]) == ("abc", 3)
    gone = ask("topic", "delete", "objects", "--key", record["sow_key"])
    assert gone.err == "sandbox: 1 deleted\n"
    assert len(ask("topic", "sow", "objects", "--top", "5").out.splitlines()) == 1
    assert ask("topic", "delete", "objects", "--filter", "1=1").err == "sandbox: 1 deleted\n"


def test_lines_of_standard_input_are_published(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without messages as arguments each line is one."""
    monkeypatch.setattr("sys.stdin", io.StringIO('{"objectUUID":"a"}\n\n{"objectUUID":"b"}\n'))
    assert ask("topic", "publish", "objects").err == "sandbox: 2 published\n"


def test_a_subscription_prints_what_is_there_what_changes_and_what_leaves(
    ask: Ask, emulator: Embedded
) -> None:
    """Until so many messages came; each is one line of JSON."""
    ask("topic", "publish", "objects", '{"objectUUID":"a","n":1}')
    changing = threading.Thread(target=_change, args=(emulator,))
    changing.start()
    seen = ask("topic", "subscribe", "objects", "--filter", "/n = 1", "--limit", "3")
    changing.join()
    told = [json.loads(line) for line in seen.out.splitlines()]
    assert [each["cmd"] for each in told] == ["sow", "publish", "oof"]
    assert (told[1]["data"]["objectUUID"], told[2]["reason"]) == ("b", "filter")
    kept = ask("topic", "subscribe", "objects", "--bookmark", "0", "--limit", "2")
    assert [json.loads(line)["bookmark"] for line in kept.out.splitlines()] == sorted(
        json.loads(line)["bookmark"] for line in kept.out.splitlines()
    )


def _change(emulator: Embedded) -> None:
    """Once somebody subscribes, publish a record and change it."""
    import msgspec

    from emulator.clock import Clock
    from extensions.topics.engine.commands import Publish
    from extensions.topics.topic_port import TopicPort

    clock = Clock()
    with Client(emulator.control) as control, TopicPort(emulator.urls["topics"]) as port:
        while not control.topics.list()[0].subscriptions:
            clock.wait(0.01)
        for n in (1, 2):
            raw = msgspec.Raw(json.dumps({"objectUUID": "b", "n": n}).encode())
            port.execute(Publish(topic="objects", data=raw))


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("publish", "objects", "{bad"), 2, "'{bad' is not JSON"),
        (("publish", "objects", '{"n": 1}'), 2, "objectUUID"),
        (("sow", "nowhere"), 2, "nowhere"),
        (("sow", "objects", "--filter", "n = 1"), 2, "at character 1 of filter: n = 1"),
        (("delete", "objects"), 2, "say which records"),
        (("subscribe", "objects", "--filter", "/n ="), 2, "at character 5"),
    ],
)
def test_what_cannot_be_done_is_said(ask: Ask, arguments: tuple[str, ...], code: int, why: str) -> None:
    """One line on standard error, nothing on standard output, and the code of a wrong usage."""
    ran = ask("topic", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert why in ran.err


def test_users_and_topics_of_a_file(tmp_path: Path, sandbox: Ask) -> None:
    """A file names topics, users and what they may; the command takes a user's token."""
    file = tmp_path / "topics.toml"
    file.write_text(
        '[[topics]]\nkind = "topic"\nname = "orders"\nkeys = ["/id"]\n'
        '[[users]]\nname = "ada"\ntoken = "t1"\n'
        '[[users]]\nname = "bob"\ntoken = "t2"\n'
        '[[entitlements]]\nuser = "ada"\ntopic = "*"\n'
        '[[entitlements]]\nuser = "bob"\ntopic = "orders"\nwrite = false\n'
    )
    settings = Settings(
        aws_port=0, control_port=0, data_dir=None, seed=7, extensions=(TopicSettings(topics=file),)
    )
    with embedded(settings) as emulator:
        at = ("--control", emulator.control)
        assert sandbox("topic", "publish", "orders", '{"id":"a"}', "--token", "t1", *at).code == 0
        assert sandbox("topic", "sow", "orders", "--token", "t2", *at).out == '{"id":"a"}\n'
        denied = sandbox("topic", "publish", "orders", '{"id":"b"}', "--token", "t2", *at)
        assert (denied.code, "not entitled" in denied.err) == (3, True)
        nobody = sandbox("topic", "sow", "orders", *at)
        assert (nobody.code, "token" in nobody.err) == (3, True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("topics = 1", "topics is 1: it is a list"),
        ('[[topics]]\nkind = "stack"\nname = "a"\n', "stack"),
        ('[[users]]\nname = "sandbox"\ntoken = "t"\n', "is the sandbox itself"),
        ("[[", "cannot be used"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, process: Ask, text: str, why: str) -> None:
    """The sandbox does not start, and says with which file and what is wrong with it."""
    (tmp_path / "topics.toml").write_text(text)
    ran = process("up", "--topics", "topics.toml", "--aws-port", "0", "--control-port", "0", "--amqp", "none")
    assert ran.code == 2
    assert "topics.toml" in ran.err
    assert why in ran.err


def test_a_subscription_ends_when_its_time_is_up(ask: Ask) -> None:
    """With exit code 4 where more was to come, and with 0 where nothing was asked for."""
    ask("topic", "publish", "objects", '{"objectUUID": "a", "n": 1}')

    fewer = ask("topic", "subscribe", "objects", "--limit", "2", "--timeout", "500ms")
    assert (fewer.code, len(fewer.out.splitlines())) == (4, 1)
    assert ask("topic", "subscribe", "objects", "--limit", "1", "--timeout", "60s").code == 0
    assert ask("topic", "subscribe", "objects", "--live", "--timeout", "100ms").code == 0
