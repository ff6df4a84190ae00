"""Clients of SQS, which stands for moto's services: what it answered outlives its process, by their store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from unittest import mock

from emulator.kinesis import Scope
from emulator.services import service_store, sqs_state, touched
from emulator.services.places import Places
from emulator.services.service_store import ServiceStore
from tests.simulation.simulated_sandbox import ConnectionLostError
from tests.simulation.simulated_world import SimulatedWorld
from tests.simulation.virtual_time import Steps

_HOME: Final = Scope("000000000777", "us-east-1")
_QUEUE: Final = "work"
_HIDDEN_SECONDS: Final = 3_600
_RETAINED: Final = {"MessageRetentionPeriod": "1209600"}
Answer = TypeVar("Answer")


def find_backend() -> Any:
    """moto's SQS in the account of the runs."""
    from moto.sqs.models import sqs_backends

    return sqs_backends[_HOME.account][_HOME.region]


@contextmanager
def moto_by(world: SimulatedWorld) -> Iterator[None]:
    """Give moto the clock and the chance of a run, and have it forget everything with each process.

    It knows no other account meanwhile: moto is one for all sandboxes of a process.
    """
    from moto.moto_api._internal.moto_random import MotoRandom
    from moto.sqs import models

    def forget() -> None:
        find_backend().reset()
        touched._stray.units.clear()

    draws = world.chance.draws("moto")
    others = {account: held for account, held in models.sqs_backends.items() if account != _HOME.account}
    for account in others:
        del models.sqs_backends[account]
    world.sandbox.forgetting.append(forget)
    with ExitStack() as stack:
        stack.callback(models.sqs_backends.update, others)
        stack.callback(forget)
        for module, name, value in (
            (models, "random", MotoRandom(draws.random())),
            (models, "unix_time", world.clock.time),
            (models, "unix_time_millis", lambda: world.clock.time() * 1000),
            (sqs_state, "_places", Places()),
            (service_store, "stopwatch", world.clock.elapsed),
        ):
            stack.enter_context(mock.patch.object(module, name, value))
        forget()
        yield


@dataclass
class SqsModel:
    """Messages by their bodies: those that SQS took, who has them until when, and those that were deleted."""

    world: SimulatedWorld
    taken: set[str] = field(default_factory=set)
    hidden: dict[str, tuple[int, float]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    may_be_deleted: set[str] = field(default_factory=set)
    last: int = 0

    def ask(self, action: str, call: Callable[[Any], Answer]) -> Answer:
        """Have SQS do something, and store it. Raises ConnectionLostError, and OSError."""
        environ = {
            "REQUEST_METHOD": "POST", "PATH_INFO": "/", "HTTP_X_AMZ_TARGET": f"AmazonSQS.{action}",
        }  # fmt: skip

        def request(store: ServiceStore) -> Answer:
            with store.request("sqs", environ):
                return call(find_backend())

        return self.world.sandbox.ask(lambda life: request(life.services))

    def create_queue(self) -> None:
        self.ask("CreateQueue", lambda backend: backend.create_queue(_QUEUE, {}, **_RETAINED))

    def receive(self) -> list[Any]:
        """Receive some messages, none of which anybody has."""

        def take(backend: Any) -> list[Any]:
            messages: list[Any] = backend.receive_message(_QUEUE, 3, 0, _HIDDEN_SECONDS)
            now, life = self.world.clock.time(), self.world.sandbox.lives
            for each in messages:
                self.world.require(
                    each.body not in self.deleted, "what was deleted stays so", f"SQS gives {each.body} again"
                )
                held, until = self.hidden.get(each.body, (0, 0.0))
                self.world.require(
                    held != life or until <= now, "no claim held twice", f"SQS gives {each.body} twice"
                )
                self.hidden[each.body] = life, now + _HIDDEN_SECONDS
                self.world.tell(f"SQS gave {each.body}")
            return messages

        return self.ask("ReceiveMessage", take)

    def check_end(self) -> None:
        """Whether everything is there that was taken and not deleted; what was received is free again."""
        self.create_queue()
        self.world.sandbox.kill()
        found: set[str] = set()
        while messages := self.receive():
            found |= {each.body for each in messages}
        lost = self.taken - found - self.deleted - self.may_be_deleted
        self.world.require(not lost, "nothing acknowledged lost", f"SQS has lost {sorted(lost)}")


class SqsClient:
    """Sends, receives and deletes; one of several."""

    def __init__(self, model: SqsModel, name: str) -> None:
        self._model = model
        self._name = name
        self._draws = model.world.chance.draws("sqs", name)
        self._received: list[Any] = []
        self._queue_is_made = False

    def steps(self) -> Steps:
        world = self._model.world
        while not world.is_ending:
            act = self._draws.choice((self._send, self._receive, self._delete))
            if not self._queue_is_made:
                act = self._make_queue
            try:
                act()
            except (ConnectionLostError, OSError) as error:
                world.tell(f"{self._name} of SQS: {act.__name__} {type(error).__name__}")
            yield self._draws.random() * 4

    def _make_queue(self) -> None:
        self._model.create_queue()
        self._queue_is_made = True

    def _send(self) -> None:
        self._model.last += 1
        body = str(self._model.last)
        self._model.ask("SendMessage", lambda backend: backend.send_message(_QUEUE, body))
        self._model.taken.add(body)

    def _receive(self) -> None:
        self._received += self._model.receive()

    def _delete(self) -> None:
        if not self._received:
            return
        message = self._received.pop()
        self._model.may_be_deleted.add(message.body)
        life = self._model.world.sandbox.lives

        def delete(backend: Any) -> bool:
            # The handle is of the process that gave it.
            if is_same := life == self._model.world.sandbox.lives:
                backend.delete_message(_QUEUE, message.receipt_handle)
            return is_same

        if self._model.ask("DeleteMessage", delete):
            self._model.deleted.add(message.body)
