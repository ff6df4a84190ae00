"""The topics, with a workload that is cut."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from emulator.assembly.foundation import Foundation
from emulator.journal import DamagedLogError
from emulator.rng import Draws
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.commands import Publish, Sow
from extensions.topics.engine.topic_definitions import Topic
from extensions.topics.engine.topics_engine import TopicsEngine
from tests.extensions.topics.engine.topics_world import Client, raw
from tests.power.cut_runs import Found
from tests.power.journal_stores import opened
from tests.power.recorded_disk import RecordedDisk, UnstoredError

PRICES = Topic(name="prices", keys=("/id",), logged=True, expiration=0)


class Topics:
    """A topic with records that are changed and deleted, and checkpoints of it."""

    name = "topics"

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        with opened(disk.folder, fsync=fsync) as made:
            topics = self._open(made, disk.folder, fsync=fsync)
            with closing(topics):
                client = Client(topics, "ada")
                for number in range(30):
                    key = f"record {chance.randrange(7)}"
                    value = b"%d|" % number + b"x" * chance.choice((9, 6000))
                    publish = Publish("prices", raw(id=key, text=value.decode()), ack_type="persisted")
                    if chance.random() < 0.3:
                        disk.let({key: value})
                        with disk.asking(refusal=CommandRefusedError):
                            client.do(publish)
                        continue
                    with disk.asking({key: value}, CommandRefusedError):
                        client.do(publish)
                        # Acknowledgements are gathered for a second.
                        made.clock.advance(1)
                        topics.tend()
                        if client.acks[-1].status != "success":
                            raise UnstoredError
                    if number % 11 == 10:
                        topics.close()
                        try:
                            topics = self._open(made, disk.folder, fsync=fsync)
                        except OSError:
                            # A start that refuses; the next one does not.
                            topics = self._open(made, disk.folder, fsync=fsync)
                        client = Client(topics, "ada")
                topics.close()

    def read(self, folder: Path, *, fsync: bool) -> Found:
        told: list[str] = []
        try:
            with opened(folder, fsync=fsync, told=told) as made:
                topics = self._open(made, folder, fsync=fsync)
                with closing(topics):
                    client = Client(topics, "bob")
                    client.do(Sow("prices"))
                    records = client.records
        except DamagedLogError as error:
            return Found({}, told, str(error))
        return Found({each["id"]: each["text"].encode() for each in records}, told)

    def _open(self, made: Foundation, folder: Path, *, fsync: bool) -> TopicsEngine:
        return TopicsEngine(folder / "topics" / "messages", made.clock, made.events, [PRICES], fsync=fsync)


STORE = Topics()
