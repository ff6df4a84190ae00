"""What was answered for survives the process, however it ends, and what was not has not happened."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from emulator.journal import Log
from extensions.queues.engine.queue_errors import ClaimNotThereError
from tests.extensions.queues.engine.conftest import QUEUE, Room, room

_WORKER = """
import sys
from pathlib import Path
from emulator.clock import Clock
from emulator.events import Events
from extensions.queues.engine import Address, MessageToPost, QueueEngine
clock = Clock()
engine = QueueEngine(Path(sys.argv[1]), clock, Events(clock))
queue = Address("project", "queue")
while True:
    ids = engine.messages.post(queue, [MessageToPost(text) for text in (b"1", b"2", b"3")], "poster")
    held = engine.claims.create(queue, ttl=43_200, grace=60, limit=2)
    engine.messages.delete(queue, held.messages[0].id, held.claim.id)
    done, kept = (message.id for message in held.messages)
    print(held.claim.id, kept, done, flush=True)
"""


def test_a_claim_survives_kill_9(tmp_path: Path) -> None:
    """Each claim that the killed process told of is there with the message left in it, and no other."""
    path = tmp_path / "queues.log"
    process = subprocess.Popen([sys.executable, "-c", _WORKER, str(path)], stdout=subprocess.PIPE, text=True)
    told = [process.stdout.readline().split() for _ in range(200)]
    process.kill()
    # The last line may have been cut short by the kill.
    told += [line.split() for line in process.stdout.read().splitlines()[:-1]]
    process.wait(60)
    process.stdout.close()

    found = room(path)
    found.clock.resume_real_time()
    for claim, kept, done in told:
        assert [message.id for message in found.engine.claims.get(QUEUE, claim).messages] == [kept]
        assert found.engine.messages.find(QUEUE, [done]) == []
    found.engine.close()


def test_a_claim_that_expired_while_nothing_ran_is_over(queues: Room) -> None:
    """Time does not stop for a process that does."""
    (id_,) = queues.post(b"1")
    held = queues.claim(ttl=60)
    queues.restart(after=60)
    with pytest.raises(ClaimNotThereError):
        queues.engine.claims.get(QUEUE, held.claim.id)
    assert queues.claimed() == [id_]


def test_everything_else_survives_too(queues: Room) -> None:
    """Metadata, subscriptions, delays and the key that signs."""
    queues.engine.queues.create(QUEUE, {"a": 1})
    made = queues.engine.subscriptions.create(QUEUE, "http://here/", options={"b": [2]}).subscription
    (late,) = queues.post(b"1", delay=30)
    signed = queues.engine.sign(QUEUE, ["/v2/queues/queue/messages"], None, None)
    queues.restart()
    assert queues.engine.queues.metadata(QUEUE) == {"a": 1}
    assert queues.engine.subscriptions.page(QUEUE) == [made]
    assert queues.claimed() == []
    queues.clock.advance(30)
    assert queues.claimed() == [late]
    assert queues.engine.verify(signed)


def test_a_journal_is_written_anew_when_little_of_it_is_needed(
    queues: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shrinks while it is used, and says the same as before, claims included."""
    monkeypatch.setattr("emulator.journal.log.OVERGROWN_BYTES", 50_000)
    (kept,) = queues.post(b'"kept"')
    held = queues.claim(ttl=43_200)
    (free,) = queues.post(b'"free"')
    for _ in range(200):
        queues.engine.messages.delete_many(QUEUE, queues.post(b'"%b"' % (b"x" * 1000)))
    assert queues.path.stat().st_size < 60_000
    queues.restart()
    assert [message.id for message in queues.engine.claims.get(QUEUE, held.claim.id).messages] == [kept]
    assert queues.engine.messages.get(QUEUE, kept).message.claims == 1
    assert queues.claimed(20) == [free]


def test_what_cannot_be_written_down_has_not_happened(queues: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk: the claim is refused, and the next one gets the same messages, in order."""
    ids = queues.post(b"1", b"2", b"3")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Log, "append", full)
        for refused in (
            lambda: queues.claim(2),
            lambda: queues.post(b"4"),
            lambda: queues.engine.messages.pop(QUEUE, 2),
        ):
            with pytest.raises(OSError, match="no space"):
                refused()
    assert queues.claimed(20) == ids
    queues.restart()
    assert queues.engine.queues.stats(QUEUE).total == 3


def test_workers_on_many_threads_never_hold_the_same_message(queues: Room) -> None:
    """Four threads claim and delete until nothing is left: each message was given once, and none was lost."""
    wanted = [id_ for _ in range(40) for id_ in queues.post(*[b"1"] * 20)]
    got: list[list[str]] = [[] for _ in range(4)]
    begin = threading.Barrier(4)

    def work(mine: list[str], name: str) -> None:
        begin.wait(60)
        while (held := queues.claim(3, client=name)) is not None:
            for message in held.messages:
                mine.append(message.id)
                queues.engine.messages.delete(QUEUE, message.id, held.claim.id)

    threads = [threading.Thread(target=work, args=(mine, f"w{n}")) for n, mine in enumerate(got)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(id_ for mine in got for id_ in mine) == sorted(wanted)
    assert queues.engine.queues.stats(QUEUE).total == 0
