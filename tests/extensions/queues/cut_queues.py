"""The queues, with a workload that is cut."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from emulator.journal import DamagedLogError
from emulator.rng import Draws
from extensions.queues.engine import Address, MessageToPost, QueueEngine
from tests.power.cut_runs import Found
from tests.power.journal_stores import opened
from tests.power.recorded_disk import RecordedDisk

QUEUE = Address("project", "queue")


class Queues:
    """A queue: posting, claiming, deleting."""

    name = "queues"

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        with opened(disk.folder, fsync=fsync) as made:
            engine = QueueEngine(disk.folder / "queues.log", made.clock, made.events, fsync=fsync)
            with closing(engine):
                for number in range(20):
                    bodies = {
                        f"message {number}.{part}": b"%d.%d|" % (number, part)
                        + b"x" * chance.choice((9, 6000))
                        for part in range(chance.randint(1, 3))
                    }
                    with disk.asking(bodies):
                        engine.messages.post(
                            QUEUE, [MessageToPost(body) for body in bodies.values()], "poster"
                        )
                    held = None
                    with disk.asking():
                        if chance.random() < 0.6:
                            held = engine.claims.create(QUEUE, ttl=60, grace=60, limit=1)
                    for message in held.messages if held else ():
                        with disk.asking({f"message {_name(bytes(message.body))}": None}):
                            engine.messages.delete(QUEUE, message.id, held.claim.id)

    def read(self, folder: Path, *, fsync: bool) -> Found:
        told: list[str] = []
        try:
            with opened(folder, fsync=fsync, told=told) as made:
                engine = QueueEngine(folder / "queues.log", made.clock, made.events, fsync=fsync)
                with closing(engine):
                    queues = engine.state.queues.values()
                    bodies = [bytes(each.body) for queue in queues for each in queue.messages]
        except DamagedLogError as error:
            return Found({}, told, str(error))
        return Found({f"message {_name(body)}": body for body in bodies}, told)


def _name(body: bytes) -> str:
    return body.split(b"|")[0].decode()


STORE = Queues()
