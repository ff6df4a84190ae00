"""The lab of a client of RabbitMQ: queues of our own broker, and the recorder on its port."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Final

from pika import BlockingConnection, URLParameters
from pika.adapters.blocking_connection import BlockingChannel

from emulator.assembly.embedded import embedded
from emulator.assembly.embedded_broker import EmbeddedBroker
from emulator.channels.rabbitmq import pack, unpack
from emulator.diagnosis.lab_trace import OWN_CONNECTION, WatchedClient
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.tape import TapedMessage
from rdss_sandbox.shapes.topology import Topology
from rdss_sandbox.shapes.trace import Disposition, Put, TraceItem
from sandbox.certify.gate import PUTS
from sandbox.certify.history import FinalShard, KeptRecord
from sandbox.certify.lab import ERROR, INPUT, INVALID, OUTPUT, Lab
from schemas.bound import CONTRACT
from schemas.contract import Contract, Sample

DEAD_LETTERS: Final = "dead-letters"
_QUEUES: Final = (INPUT, OUTPUT, ERROR, INVALID, DEAD_LETTERS)
_PERSISTENT: Final = 2
_HELD: Final = "the kit holds it up"
_END_SECONDS: Final = 5.0


class QueueLab(Lab):
    """A sandbox with a broker. The input queue counts as one shard that is never split.

    The kit numbers what it puts on the input, in the property ``message_id``; redeliveries keep the number.
    """

    _broker: BlockingChannel

    def __init__(self, seed: int, contract: Contract = CONTRACT) -> None:
        super().__init__(seed, contract)
        self._numbered: list[tuple[str, str | None]] = []
        self._accepted: list[tuple[str, bytes]] = []
        self._clients: set[WatchedClient] = set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the sandbox on free ports while the context lasts."""
        settings = Settings(
            data_dir=None,
            aws_port=0,
            control_port=0,
            amqp_port=0,
            seed=self.seed,
            topology=Topology(),
            amqp="embedded",
        )
        with (
            embedded(settings, trace=self, contract=self.contract) as emulator,
            self._following(emulator),
        ):
            parameters = URLParameters(str(emulator.broker.url))
            parameters.client_properties = {"connection_name": OWN_CONNECTION}
            parameters.heartbeat = 0
            with closing(BlockingConnection(parameters)) as connection:
                self._broker = connection.channel()
                self._broker.confirm_delivery()
                for queue in _QUEUES:
                    self._broker.queue_declare(queue, durable=True)
                assert isinstance(emulator.broker, EmbeddedBroker)
                emulator.broker.dead_letter(INPUT, DEAD_LETTERS)
                yield

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a client is told where everything is."""
        return {
            "SANDBOX_AMQP_URL": str(self._emulator.broker.url),
            "SANDBOX_CONTROL": self._emulator.control,
            "SANDBOX_QUEUE": INPUT,
            "SANDBOX_OUTPUT_QUEUE": OUTPUT,
            "SANDBOX_ERROR_QUEUE": ERROR,
            "SANDBOX_INVALID_QUEUE": INVALID,
        }

    def put(self, messages: Iterable[Sample]) -> None:
        """Put messages on the input queue past the recorder."""
        for message, key in messages:
            number, message_id = str(len(self._numbered) + 1), self.identify(message, key)
            if message_id is not None:
                self.known.add(message_id)
            self._numbered.append((number, message_id))
            self.history.put_at[INPUT, number] = self.now
            self.place_of[message_id or number] = INPUT
            self._tape(message, number)
            body, properties = unpack(self.contract, message)
            properties.message_id, properties.delivery_mode = number, _PERSISTENT
            self._broker.basic_publish("", INPUT, body, properties, mandatory=True)

    def put_poison(self, data: bytes) -> None:
        """Put what is no message on the input queue."""
        self.put([Sample(data, "")])
        self.add(self.history.poison, self._numbered[-1][0])

    def keeps_poison(self) -> bool:
        settled = {
            each.sequence_number
            for settlement in self.history.settlements()
            if settlement.disposition is not Disposition.REQUEUE
            for each in settlement.records
        }
        return not settled.union(self.history.taken_away).issuperset(self.history.poison)

    def remove_poison(self) -> bool:
        # What a client had in hand goes back to its queue when its connection is gone.
        self.wait(_END_SECONDS, lambda: not self._clients)
        removed, tags = len(self.history.taken_away), []
        while (got := self._broker.basic_get(INPUT))[0] is not None:
            if got[1].message_id in self.history.poison:
                self._broker.basic_ack(got[0].delivery_tag)
                self.history.taken_away.append(got[1].message_id)
            else:
                tags.append(got[0].delivery_tag)
        if tags:
            self._broker.basic_nack(tags[-1], multiple=True, requeue=True)
        return len(self.history.taken_away) > removed

    def open_shards(self) -> list[str]:
        return [INPUT]

    def shard_of(self, message_id: str) -> str:  # noqa: ARG002 -- a queue has one place
        return INPUT

    @contextmanager
    def holding(self, shards: Sequence[str]) -> Iterator[None]:  # noqa: ARG002
        """Nothing is held up: a broker pushes what it has."""
        yield

    def written(self, stream: str) -> list[Sample]:
        """What the client has published to a queue so far."""
        return [Sample(data, "") for queue, data in tuple(self._accepted) if queue == stream]

    def collect(self) -> None:
        """Take what lies in the input queue into the history, once no connection has it in hand."""
        self.wait(_END_SECONDS, lambda: not self._clients)
        drained = list(self._drain(INPUT))
        self.history.stored += [KeptRecord(self.identify(data), data, self.life) for _, data in drained]
        self.history.left += [number for number, _ in drained if number]

    def settle_history(self) -> None:
        """Add what lies in the queues at the end to the history."""
        history = self.history
        self.collect()
        history.shards.append(FinalShard(INPUT, (), tuple(self._numbered)))
        for queue, stored in ((ERROR, history.errors), (INVALID, history.invalid)):
            stored += [KeptRecord(self.identify(data), data) for _, data in self._drain(queue)]

    def _drain(self, queue: str) -> Iterator[tuple[str, bytes]]:
        """Take every message out of a queue, as (number, body)."""
        while True:
            got, properties, body = self._broker.basic_get(queue, auto_ack=True)
            if got is None:
                return
            yield properties.message_id or "", pack(self.contract, body, properties)

    def _tape(self, data: bytes, number: str) -> None:
        """Note a message of the input, as a tape has it."""
        self.history.taped.append(TapedMessage(self.now, INPUT, data, len(data), INPUT, number=number))

    # What the recorders see

    def note_item(self, item: TraceItem, data: bytes = b"") -> None:
        """Note an item. While the gate is closed to puts, no command of the client's is read."""
        if isinstance(item, Put) and not item.error:
            self._accepted.append((item.stream, data))
            if item.stream == INPUT:
                self._tape(data, "")
        super().note_item(item, data)
        if isinstance(item, Put) and self.gate.is_closed(PUTS):
            for client in self._clients:
                client.pause_reading(_HELD)
                self.gate.when_open(PUTS, partial(client.resume_reading, _HELD))

    def note_connection(self, client: WatchedClient, *, opened: bool) -> None:
        change = self._clients.add if opened else self._clients.discard
        self.note(lambda _history: change(client))
