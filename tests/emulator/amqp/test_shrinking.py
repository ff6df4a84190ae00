"""Files of messages shrink when little of them is held: what is held stays, whenever it is killed."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from emulator.amqp.message import Entry, Message
from emulator.amqp.store.message_file import Marks, MessageOnDisk
from emulator.amqp.store.message_store import MessageStore, Rests
from emulator.amqp.wire import methods as m
from emulator.journal import Log
from rdss_sandbox.files.rewriting import DRAFT
from tests.emulator.amqp.calls import bind, consume, exchange, get, publish, queue
from tests.emulator.amqp.engine_client import EngineClient, OwnBroker
from tests.emulator.amqp.raw_client import Came, build_properties
from tests.emulator.amqp.test_store_model import ShortTurn

KEPT = build_properties(mode=2)
Held = list[tuple[bytes, bool]]


def held(folder: Path, *names: str) -> dict[str, Held]:
    """What a broker that starts on a copy of the folder has in its queues, each marked when redelivered."""
    with TemporaryDirectory(prefix="held-") as copies:
        own = OwnBroker(shutil.copytree(folder, Path(copies) / "broker"))
        client = own.client()
        found: dict[str, Held] = {name: [] for name in names}
        for name in names:
            while isinstance(came := client.ask(get(name, no_ack=True)), Came):
                found[name].append((came.body, came.method.redelivered))
        own.broker.close()
        return found


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.log") if path.name[0].isdecimal())


def fill(client: EngineClient, count: int, size: int = 500) -> None:
    """A durable queue with as many messages, numbered from 0."""
    client.ask(queue(durable=True))
    for number in range(count):
        client.publish(publish(), b"%06d" % number + b"x" * (size - 6), KEPT)


def take_all_but(client: EngineClient, count: int, *, every: int) -> None:
    """Acknowledge so many deliveries but for one of each ``every``, which stay unacknowledged."""
    client.ask(m.BasicQos(0, 0, False))
    client.say(consume())
    client.take()
    for tag in range(1, count + 1):
        if tag % every:
            client.say(m.BasicAck(tag, False))


def test_what_is_left_of_40_000_messages_takes_little(tmp_path: Path) -> None:
    """One of each thousand: at most four times its bytes on disk, and all are there, after a kill too."""
    own = OwnBroker(tmp_path)
    client = own.client()
    fill(client, 40_000)
    full = bytes_in(tmp_path)
    take_all_but(client, 40_000, every=1000)
    wanted = [(b"%06d" % number + b"x" * 494, True) for number in range(999, 40_000, 1000)]
    assert bytes_in(tmp_path) <= 4 * full * len(wanted) / 40_000
    assert held(tmp_path, "q1") == {"q1": wanted}
    client.say(m.BasicNack(0, True, True))
    came = [each.body for each in client.take() if isinstance(each, Came)]
    assert came == [body for body, _ in wanted]


def test_a_file_from_before_shrinks_at_the_start(tmp_path: Path) -> None:
    """As one that a broker left which did not shrink its files."""
    own = OwnBroker(tmp_path)
    client = own.client()
    fill(client, 1000)
    take_all_but(client, 1000, every=100)
    before = bytes_in(tmp_path)
    assert before > 500_000, "less than a mebibyte is left alone while it takes messages"
    wanted = held(tmp_path, "q1")
    OwnBroker(tmp_path)
    assert bytes_in(tmp_path) <= 4 * before / 100
    assert held(tmp_path, "q1") == wanted


def test_a_full_disk_keeps_a_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It shrinks when there is space, with the next acknowledgement."""
    client = OwnBroker(tmp_path).client()
    fill(client, 4000)

    def refuse(log: Log, payload: bytes) -> int:
        if log.path.suffix == DRAFT and log.end > 1000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return append(log, payload)

    append = Log.append
    monkeypatch.setattr(Log, "append", refuse)
    take_all_but(client, 3999, every=100)
    before = bytes_in(tmp_path)
    monkeypatch.undo()
    assert before > 2_000_000
    assert not list(tmp_path.glob("*.draft"))
    assert len(held(tmp_path, "q1")["q1"]) == 40
    client.say(m.BasicAck(4000, False))
    assert bytes_in(tmp_path) <= before / 25
    assert len(held(tmp_path, "q1")["q1"]) == 39


def test_what_is_acknowledged_while_a_file_shrinks_does_not_come_back(tmp_path: Path) -> None:
    """One more message between each step and the next, of messages and of what became of them."""
    store = MessageStore(tmp_path, memory_bytes=0, rests=Rests(sparse=0))
    message = Message("", ("q1",), b"", b"x" * 500, persistent=True)
    entries = [
        Entry(
            number, None, size=500, reference=store.append([MessageOnDisk([(1, number, None)], message)], 1)
        )
        for number in range(3000)
    ]

    def settle(at: int) -> None:
        store.settle(1, [entries.pop(at)], durable=True)
        store.commit()

    while len(entries) > 300:
        settle(len(entries) % 7)
    steps = 0
    while store.is_busy or store.is_shrinking:
        store.proceed(ShortTurn())
        if store.is_busy:
            steps += 1
            settle(steps % 7)
    assert steps > 40
    store.close()
    found = [entry.number for _, entry, _, _ in MessageStore(tmp_path).recover()]
    assert found == [entry.number for entry in entries]


def test_no_step_of_shrinking_is_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many messages, small and large: the event loop waits for little of it at a time.

    What a step does is counted, since its time is longer where others use the machine: a MiB, some hundred
    entries and a thousand marks take a few milliseconds, and 50 are allowed.
    """
    store = MessageStore(tmp_path, memory_bytes=0, rests=Rests(sparse=0))
    entries = []
    for number in range(20_000):
        message = Message("", ("q1",), b"", b"x" * (30_000 if number % 6000 == 0 else 8), persistent=True)
        reference = store.append([MessageOnDisk([(1, number, None)], message)], 1)
        entries.append(Entry(number, None, size=8, reference=reference))
    for entry in entries:
        store.note_delivered(1, [entry])
        if entry.number % 6:
            store.settle(1, [entry], durable=True)
        if not entry.number % 500:
            store.commit()
    store.commit()
    sizes: list[int] = []
    marks: list[int] = []

    def count_append(log: Log, payload: bytes) -> int:
        sizes.append(len(payload))
        if log.path.name.startswith("00000001.settled"):
            marks.append(len(msgspec.msgpack.decode(payload, type=Marks).delivered))
        return append(log, payload)

    def count_read(log: Log, position: int) -> bytes:
        sizes.append(len(found := read(log, position)))
        return found

    append, read = Log.append, Log.read
    monkeypatch.setattr(Log, "append", count_append)
    monkeypatch.setattr(Log, "read", count_read)
    largest = most = steps = 0
    while store.is_busy or store.is_shrinking:
        store.proceed(ShortTurn())
        largest, most, steps = max(largest, sum(sizes)), max(most, len(sizes)), steps + 1
        sizes.clear()
    assert steps > 100
    assert largest < 1 << 20
    assert most <= 256
    assert sum(marks) == 20_000 // 6 + 1
    assert max(marks) <= 1024
    store.close()
    found = [entry.number for _, entry, _, _ in MessageStore(tmp_path).recover()]
    assert found == [entry.number for entry in entries if not entry.number % 6]


def test_what_was_settled_of_an_earlier_file_is_not_of_a_later_one(tmp_path: Path) -> None:
    """A process died between the removal of a file's messages and of what became of them."""
    own = OwnBroker(tmp_path)
    client = own.client()
    fill(client, 3)
    take_all_but(client, 3, every=4)
    (settled,) = tmp_path.glob("*.settled.log")
    left = settled.read_bytes()
    own.broker.close()
    OwnBroker(tmp_path).broker.close()
    assert not settled.exists()
    settled.write_bytes(left)
    fill(OwnBroker(tmp_path).client(), 3)
    assert len(held(tmp_path, "q1")["q1"]) == 3


_KILLED = 86
_START = f"""
import os, shutil, sys
from pathlib import Path
from emulator.journal import frames
from tests.emulator.amqp.engine_client import OwnBroker

CHANGES = {{"os.rename", "os.remove", "os.truncate"}}

def start_until(left, folder):
    def count():
        nonlocal left
        left -= 1
        if left < 0:
            os._exit({_KILLED})

    def step(event, given):
        if event in CHANGES or (event == "open" and isinstance(given[2], int) and given[2] & os.O_CREAT):
            count()

    def write(*given, write_all=frames.write_all):
        count()
        return write_all(*given)

    frames.write_all = write
    sys.addaudithook(step)
    OwnBroker(folder)
    os._exit(0)

original, copies = map(Path, sys.argv[1:])
step, code = 0, {_KILLED}
while code == {_KILLED}:
    folder = copies / str(step)
    shutil.copytree(original, folder)
    child = os.fork()
    if not child:
        start_until(step, folder)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    step += 1
print(step, code)
"""
"""Each child is killed before its n-th change of a file while it starts, which is when the file shrinks."""


def test_killed_at_every_step_it_loses_nothing_and_nothing_comes_back(tmp_path: Path) -> None:
    """The next start has the same messages, marked as before, in a file that is small in the end."""
    left = tmp_path / "left"
    client = OwnBroker(left).client()
    fill(client, 600)
    client.ask(queue("q2", durable=True))
    client.ask(exchange("both", "fanout", durable=True))
    client.ask(bind("both"))
    client.ask(bind("both", to="q2"))
    for number in range(20):
        client.publish(publish("", "both"), b"both %d" % number, KEPT)
    take_all_but(client, 610, every=60)
    client.ask(get("q2", no_ack=True))
    wanted = held(left, "q1", "q2")
    assert [len(each) for each in wanted.values()] == [20, 19]
    assert {redelivered for each in wanted.values() for _, redelivered in each} == {True, False}
    before = bytes_in(left)

    copies = tmp_path / "copies"
    script = [sys.executable, "-c", _START, str(left), str(copies)]
    ran = subprocess.run(script, capture_output=True, text=True, check=True, timeout=100)
    steps, code = map(int, ran.stdout.split())
    assert (code, ran.stderr) == (0, "")
    assert steps > 30
    for step in range(steps):
        folder = copies / str(step)
        assert held(folder, "q1", "q2") == wanted, step
        OwnBroker(folder).broker.close()
        assert bytes_in(folder) < before / 8, step
        assert not list(folder.glob("*.draft")), step
