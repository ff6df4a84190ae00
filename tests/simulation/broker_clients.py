"""Publishers and consumers of the AMQP broker, and the model of what was confirmed and who has what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from emulator.amqp.wire import methods as m
from tests.emulator.amqp.calls import consume, prefetch, publish, queue
from tests.emulator.amqp.engine_client import EngineClient, OwnBroker
from tests.emulator.amqp.raw_client import Came, build_properties
from tests.simulation.mortal_disk import MortalDisk
from tests.simulation.simulated_sandbox import ConnectionLostError
from tests.simulation.simulated_world import SimulatedWorld
from tests.simulation.virtual_time import Steps

_KEPT: Final = build_properties(mode=2)
_NAMES: Final = ("orders", "copies")


@dataclass
class BrokerModel:
    """Messages by their numbers: confirmed ones, those of each consumer, and those that were acknowledged."""

    world: SimulatedWorld
    confirmed: set[tuple[str, int]] = field(default_factory=set)
    holders: dict[tuple[str, int], str] = field(default_factory=dict)
    settled: set[tuple[str, int]] = field(default_factory=set)
    may_be_settled: set[tuple[str, int]] = field(default_factory=set)
    last: int = 0
    life: int = 0

    def __post_init__(self) -> None:
        if self.world.sandbox.power is not None:
            # AMQP answers no acknowledgement: nothing says that one is on the disk.
            self.world.sandbox.power.cutting.append(self.settled.clear)

    def begin_life(self, life: int) -> None:
        """Forget who had what when the process of another life died."""
        if self.life != life:
            self.life = life
            self.holders.clear()

    def take(self, name: str, number: int, holder: str) -> None:
        """Note that a consumer has a message."""
        place = name, number
        self.world.require(
            place not in self.settled or self.world.sandbox.unwritten, "what was acknowledged stays so",
            f"{place} comes to {holder} again",
        )  # fmt: skip
        self.world.require(
            place not in self.holders, "no delivery to two consumers",
            f"{place} comes to {holder}, and {self.holders.get(place)} has it",
        )  # fmt: skip
        self.holders[place] = holder

    def check_end(self) -> None:
        """Whether every confirmed message that nobody acknowledged is there, in the order of publishing."""
        found: set[tuple[str, int]] = set()

        def drain(own: OwnBroker) -> None:
            for connection in tuple(own.broker.connections):
                connection.lost()
            own.proceed()
            client = own.client()
            for name in _NAMES:
                client.ask(queue(name, durable=True))
                last = 0
                while isinstance(came := client.ask(m.BasicGet(0, name, False)), Came):
                    number = int(came.body)
                    found.add((name, number))
                    self.world.require(number > last, "order in a queue", f"{name}: {number} after {last}")
                    last = number

        self.world.sandbox.ask(lambda running: drain(running.amqp))
        lost = self.confirmed - found - self.settled - self.may_be_settled
        self.world.require(not lost, "confirms after writes", f"confirmed and gone: {sorted(lost)[:5]}")
        again = found & self.settled
        self.world.require(
            not again or self.world.sandbox.unwritten,
            "what was acknowledged stays so",
            f"{sorted(again)[:5]}",
        )


class MortalClient(EngineClient):
    """A connection whose broker may die when it has sent something, before it does anything else."""

    def __init__(self, own: OwnBroker, disk: MortalDisk) -> None:
        self._disk = disk
        super().__init__(own)

    def answer(self, commands: list[Any]) -> None:
        super().answer(commands)
        self._disk.reach()


class BrokerClient:
    """Publishes with confirms, or consumes; it connects again when its broker has died."""

    def __init__(self, model: BrokerModel, name: str) -> None:
        self._model = model
        self._world = model.world
        self._name = name
        self._draws = model.world.chance.draws("broker", name)
        self._client: MortalClient | None = None
        self._life = 0
        self._waiting: dict[int, int] = {}
        self._published = 0
        self._tags: dict[int, tuple[str, int]] = {}
        self._queue = ""

    def publishing(self) -> Steps:
        yield from self._steps(self._publish)

    def consuming(self) -> Steps:
        yield from self._steps(self._settle)

    def _steps(self, act: Callable[[MortalClient], None]) -> Steps:
        while not self._world.is_ending:
            yield self._draws.random() * 3
            try:
                self._world.sandbox.ask(lambda running: self._act(running.amqp, act))
            except ConnectionLostError:
                self._world.tell(f"{self._name} lost its connection")

    def _act(self, own: OwnBroker, act: Callable[[MortalClient], None]) -> None:
        life = self._world.sandbox.lives
        self._model.begin_life(life)
        if self._client is None or self._life != life:
            self._take_arrived()
            self._drop()
            self._life = life
            self._client = MortalClient(own, self._world.disk)
            self._client.open()
            self._declare(self._client)
        client = self._client
        if not client.ended:
            act(client)
        own.proceed()
        self._take_arrived()
        if client.ended or self._draws.random() < 0.04:
            for place in self._tags.values():
                self._model.holders.pop(place, None)
            self._drop()
            client.hang_up()

    def _drop(self) -> None:
        self._client = None
        self._published = 0
        self._waiting.clear()
        self._tags.clear()

    def _declare(self, client: MortalClient) -> None:
        for name in _NAMES:
            client.ask(queue(name, durable=True))
        client.ask(m.QueueBind(0, _NAMES[0], "amq.fanout", "", False, {}))
        client.ask(m.QueueBind(0, _NAMES[1], "amq.fanout", "", False, {}))
        client.ask(m.ConfirmSelect(False))
        client.ask(prefetch(self._draws.randrange(1, 6)))

    def _publish(self, client: MortalClient) -> None:
        for _ in range(self._draws.randrange(1, 4)):
            self._model.last += 1
            self._published += 1
            self._waiting[self._published] = self._model.last
            body = b"%d" % self._model.last + b" " * self._draws.randrange(200)
            self._note(client.publish(publish("", "amq.fanout"), body, _KEPT))

    def _settle(self, client: MortalClient) -> None:
        if not client.connection.channels[1].consumers:
            self._queue = self._draws.choice(_NAMES)
            client.say(consume(self._queue, "t1"))
            self._take_arrived()
        for tag in sorted(self._tags):
            place, way = self._tags[tag], self._draws.random()
            if way < 0.5:
                del self._tags[tag]
                self._model.may_be_settled.add(place)
                client.say(m.BasicAck(tag, False))
                self._model.holders.pop(place, None)
                if client.ended:
                    return
                self._model.settled.add(place)
            elif way < 0.7:
                del self._tags[tag]
                self._model.holders.pop(place, None)
                client.say(m.BasicNack(tag, False, True))
                if client.ended:
                    return

    def _take_arrived(self) -> None:
        if self._client is not None:
            self._note(self._client.take())

    def _note(self, came: list[Any]) -> None:
        for each in came:
            match each:
                case m.BasicAck(tag, multiple):
                    self._confirm(tag, multiple=multiple)
                case Came(m.BasicDeliver() as method, _, body):
                    self._take(method.delivery_tag, int(body))

    def _take(self, tag: int, number: int) -> None:
        # What a process sent before it died went back with it.
        if self._life == self._model.life:
            self._tags[tag] = self._queue, number
            self._world.tell(f"{self._name} got {number} of {self._queue}")
            self._model.take(self._queue, number, self._name)

    def _confirm(self, tag: int, *, multiple: bool) -> None:
        for each in [known for known in self._waiting if known == tag or (multiple and known < tag)]:
            number = self._waiting.pop(each)
            self._world.tell(f"{self._name} confirmed {number}")
            self._model.confirmed |= {(name, number) for name in _NAMES}
