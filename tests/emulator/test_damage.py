"""Whatever a power cut or a bad disk does to a file: nothing is lost in silence, and nothing is deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator import damage as told
from emulator.embedded import Embedded, embedded
from emulator.journal import DamagedLog
from emulator.parts import Parts, assembled
from emulator.resources import AuditTap, Topology
from emulator.settings import Settings
from emulator.topics.commands import Publish, Sow
from emulator.topics.messages import SowMessage

PROJECT = {"Client-ID": "3381af92-2b9e-11e3-b191-71861300734c", "X-Project-ID": "p"}
MADE_ANEW = ("lock", "messages.db", "messages.db-wal", "messages.db-shm")
"""Files in which nothing is that is not made again from others."""
TOPICS = """
[[topics]]
kind = "topic"
name = "prices"
keys = ["/id"]
expiration = 0
logged = true
"""


def settings(folder: Path) -> Settings:
    topics = folder.parent / "topics.toml"
    topics.write_text(TOPICS)
    return Settings(
        data_dir=folder,
        aws_port=0,
        control_port=0,
        queues_port=0,
        topics_port=0,
        amqp="off",
        topics=topics,
        topology=Topology(
            streams={"input": 2, "error": 1, "audit": 1},
            buckets=("rdss-audit",),
            audit=AuditTap(taps=("input",)),
            claimable=("error",),
        ),
    )


def fill(emulator: Embedded) -> None:
    """Have something in every service, so that every durable file there is has been made."""
    parts = emulator.parts
    for number in range(20):
        record = {"StreamName": "input", "PartitionKey": str(number), "Data": b"input %d" % number}
        parts.streams.call("PutRecord", record, parts.home)
    parts.streams.call("PutRecord", {"StreamName": "error", "PartitionKey": "e", "Data": b"{}"}, parts.home)
    parts.amqp.record("exchange", [(b"amqp %d" % number, "key") for number in range(5)])
    with httpx.Client(trust_env=False, headers=PROJECT) as client:
        queue = f"{emulator.queues}/v2/queues/jobs"
        client.put(queue)
        for number in range(5):
            client.post(f"{queue}/messages", json={"messages": [{"body": number, "ttl": 86400}]})
        client.get(f"{emulator.queues}/v2/queues/error/messages", headers={"X-Project-ID": "rdss"})
    topics = parts.topics.open()
    session = topics.session("ada", lambda _: None)
    for number in range(20):
        session.execute(Publish("prices", data=_raw({"id": number}), ack_type="persisted"))
    emulator.parts.archives._pump.drain()


def _raw(value: object) -> Any:
    import msgspec

    return msgspec.Raw(msgspec.json.encode(value))


def kept(parts: Parts) -> dict[str, list[bytes]]:
    """All that was acknowledged and can be read."""
    found: dict[str, list[bytes]] = {}
    for name, service in (("stream", parts.streams), ("amqp", parts.amqp)):
        for view in service.streams(parts.home):
            for shard in view.shards:
                records = service.read(view.name, shard.id, None, 1000, parts.home)
                found.setdefault(f"{name} {view.name}", []).extend(each.data for each in records)
    for queue in parts.queues._store.state.queues.values():
        found[f"queue {queue.at.name}"] = [bytes(str(each.body), "utf-8") for each in queue.messages]
    answers: list[Any] = []
    session = parts.topics.open().session("bob", answers.append)
    session.execute(Sow("prices"))
    records = [each for answer in answers if isinstance(answer, SowMessage) for each in answer.data]
    found["topic prices"] = [bytes(each.data) for each in records]
    session.close()
    return {name: sorted(values) for name, values in found.items() if values}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with something in every file, as a process leaves it that was killed."""
    folder = tmp_path_factory.mktemp("original") / "data"
    left = folder.parent / "left"
    with embedded(settings(folder)) as emulator:
        fill(emulator)
        shutil.copytree(folder, left)
    return left


@pytest.fixture(scope="module")
def whole(original: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    folder = tmp_path_factory.mktemp("whole") / "data"
    shutil.copytree(original, folder)
    with assembled(settings(folder)) as parts:
        assert not parts.damage
        return kept(parts)


def durable(folder: Path) -> list[str]:
    """Every file in which something is that cannot be made again."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    return sorted(str(path.relative_to(folder)) for path in files if path.name not in MADE_ANEW)


def test_every_service_has_files(original: Path, whole: dict[str, list[bytes]]) -> None:
    """What follows is about these, and about whatever else there will be."""
    files = durable(original)
    for name in ("streams/state.log", "queues.log", "events.log", "positions.log", "queue-positions.log"):
        assert name in files
    assert any(name.startswith("streams/streams/") for name in files)
    assert any(name.startswith("amqp/streams/") for name in files)
    assert any(name.startswith("topics/messages/") for name in files)
    assert {"stream input", "queue jobs", "queue error", "topic prices", "amqp amqp:exchange"} <= whole.keys()


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def zeros_at_the_end(path: Path) -> None:
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size // 2] + bytes(size - size // 2))


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 7)


def missing(path: Path) -> None:
    path.unlink()


def flipped(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3] ^= 0x10
    path.write_bytes(raw)


def a_draft_left(path: Path) -> None:
    """A rename that did not happen: the old file, and beside it part of what was to take its place."""
    for suffix in (".draft", ".new"):
        path.with_suffix(suffix).write_bytes(path.read_bytes()[:-1])


DAMAGES = [emptied, zeroed, zeros_at_the_end, cut_off, missing, flipped, a_draft_left]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "damage" in metafunc.fixturenames:
        metafunc.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_no_file_is_lost_in_silence(
    damage: Callable[[Path], None], original: Path, whole: dict[str, list[bytes]], tmp_path: Path
) -> None:
    """For every file: a start is refused in a line that names it, or all is there, or an event says what not.

    What other files hold is still somewhere, and the next start says nothing any more.
    """
    for number, name in enumerate(durable(original)):
        folder = tmp_path / str(number) / "data"
        shutil.copytree(original, folder)
        damage(folder / name)
        before = contents(folder)
        judge(folder, name, whole)
        after = contents(folder)
        for other, content in before.items():
            if other != name and other.endswith(".log") and "/streams/" in other:
                assert any(each.startswith(content) for each in after.values()), f"{other}, by {name}"
        shutil.rmtree(folder)


def judge(folder: Path, name: str, whole: dict[str, list[bytes]]) -> None:
    try:
        with assembled(settings(folder)) as parts:
            now = kept(parts)
            lines = [line for event in parts.events.since(0, 10_000) if (line := told.line(event))]
    except DamagedLog as error:
        said = str(error)
    else:
        said = ""
    if said:
        assert str(folder / name) in said
        assert "sandbox repair" in said
        assert "\n" not in said
        return
    lost = {key: set(values) - set(now.get(key, ())) for key, values in whole.items()}
    about = [line for line in lines if name in line or str(Path(name).parent) in line]
    if any(lost.values()) or name not in contents(folder):
        assert about, f"{name}: {lost}, {lines}"
        assert all("\n" not in line for line in about)
    with assembled(settings(folder)) as parts:
        assert not parts.damage, f"{name}: told twice"
        assert {key: set(values) - set(kept(parts).get(key, ())) for key, values in whole.items()} == lost
