"""The broker of the AMQP port, with a workload that is cut."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from emulator.amqp.wire import methods as m
from emulator.amqp.wire.methods import Method
from emulator.journal import DamagedLogError
from emulator.rng import Draws
from tests.emulator.amqp.calls import delete, get, publish, queue
from tests.emulator.amqp.engine_client import OwnBroker
from tests.emulator.amqp.raw_client import Came, build_properties
from tests.power.cut_runs import Found
from tests.power.journal_stores import opened
from tests.power.recorded_disk import RecordedDisk, UnstoredError

KEPT = build_properties({}, mode=2)


class BrokerStore:
    """Durable queues: publishing with confirms, acknowledging, deleting; files that shrink and go."""

    name = "broker"

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        with opened(disk.folder, fsync=fsync) as made:
            assert made.directory is not None
            own = OwnBroker(made.directory.broker, fsync=fsync)
            with closing(own.broker):
                user = _User(own, disk)
                for name in ("q1", "q2"):
                    while not isinstance(user.ask(queue(name, passive=True)), m.QueueDeclareOk):
                        with disk.asking({f"queue {name}": b"there"}):
                            user.demand(queue(name, durable=True), m.QueueDeclareOk)
                later: dict[str, bytes | None] = {"queue q2": None}
                for number in range(40):
                    key, body = (
                        f"message {number}",
                        b"%d|" % number + chance.randbytes(chance.choice((20, 9000))),
                    )
                    name = chance.choice(("q1", "q1", "q2"))
                    with disk.asking({key: body}):
                        user.publish(name, body)
                    if name == "q2":
                        later[key] = None
                    if chance.random() < 0.6:
                        user.take("q1")
                with disk.asking(later):
                    user.demand(delete("q2"), m.QueueDeleteOk)

    def read(self, folder: Path, *, fsync: bool) -> Found:
        told: list[str] = []
        values: dict[str, bytes] = {}
        try:
            with opened(folder, fsync=fsync, told=told) as made:
                assert made.directory is not None
                own = OwnBroker(made.directory.broker, fsync=fsync)
                told += [str(fields) for kind, fields in own.host.reported if kind.startswith("journal.")]
                with closing(own.broker):
                    for name in ("q1", "q2"):
                        client = own.client()
                        if not isinstance(client.ask(queue(name, passive=True)), m.QueueDeclareOk):
                            continue
                        values[f"queue {name}"] = b"there"
                        while isinstance(came := client.ask(get(name, no_ack=True)), Came):
                            values[f"message {came.body.split(b'|')[0].decode()}"] = came.body
        except DamagedLogError as error:
            return Found({}, told, str(error))
        return Found(values, told)


class _User:
    """A client that begins a new connection where the broker has ended the last one."""

    def __init__(self, own: OwnBroker, disk: RecordedDisk) -> None:
        self._own = own
        self._disk = disk
        self._connect()

    def ask(self, method: Method) -> Any:
        answer = self._client.ask(method)
        if answer is None or isinstance(answer, m.ChannelClose | m.ConnectionClose):
            self._connect()
        return answer

    def demand(self, method: Method, wanted: type[Method]) -> None:
        """Raises UnstoredError where another answer comes than is wanted."""
        if not isinstance(self.ask(method), wanted):
            raise UnstoredError

    def publish(self, name: str, body: bytes) -> None:
        """Publish a persistent message. Raises UnstoredError where it is not confirmed."""
        came = self._client.publish(publish(name), body, KEPT)
        if not came or not isinstance(came[-1], m.BasicAck):
            self._connect()
            raise UnstoredError

    def take(self, name: str) -> None:
        """Take a message, and acknowledge it."""
        came = self.ask(get(name))
        if isinstance(came, Came):
            # AMQP answers no acknowledgement: it may come again, marked as redelivered.
            self._disk.let({f"message {came.body.split(b'|')[0].decode()}": None})
            self._client.say(m.BasicAck(came.method.delivery_tag, False))

    def _connect(self) -> None:
        self._client = self._own.client()
        self._client.ask(m.ConfirmSelect(False))
