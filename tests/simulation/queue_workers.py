"""Workers of queues with claims, and the model that knows who holds what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from extensions.queues.engine import Address, MessageToPost, QueueEngine
from extensions.queues.engine.queue_errors import (
    ClaimNotThereError,
    MessageClaimedError,
    MessageNotClaimedError,
)
from tests.simulation.simulated_sandbox import ConnectionLostError
from tests.simulation.simulated_world import SimulatedWorld
from tests.simulation.virtual_time import Steps

QUEUE: Final = Address("simulated", "work")
_TTL: Final = 1_209_600
_DELETED: Final = "what was deleted stays so"
Answer = TypeVar("Answer")


@dataclass(slots=True)
class PostedWork:
    """What the model knows of a message: who holds it until when, and whether it may be gone."""

    holder: str = ""
    until: float = 0.0
    may_be_gone: bool = False


class ClaimModel:
    """The messages of a queue, as the engine said that they are before its process could die.

    Where it died within an operation, the model allows both that it was done and that it was not.
    """

    def __init__(self, world: SimulatedWorld) -> None:
        self.world = world
        self.work: dict[str, PostedWork] = {}
        self.gone: set[str] = set()

    def ask(self, call: Callable[[QueueEngine], Answer]) -> Answer:
        return self.world.sandbox.ask(lambda running: call(running.queues))

    def check_end(self) -> None:
        """Whether everything that was posted and not deleted can be had. All claims are over."""
        self.world.clock.advance(200)
        left: set[str] = set()
        while held := self.ask(lambda queues: queues.claims.create(QUEUE, ttl=43_200, limit=20)):
            left |= {message.id for message in held.messages}
        for id_, posted in self.work.items():
            self.world.require(
                id_ in left or posted.may_be_gone, "nothing acknowledged lost", f"the queue's {id_} is gone"
            )
        self.world.require(not left & self.gone, _DELETED, f"{left & self.gone} came back")


class QueueWorker:
    """Posts, claims, renews, deletes and releases; one of several."""

    def __init__(self, model: ClaimModel, name: str) -> None:
        self._model = model
        self._world = model.world
        self._name = name
        self._draws = model.world.chance.draws("worker", name)
        self._claim = ""
        self._held: list[str] = []
        self._until = 0.0

    def steps(self) -> Steps:
        while not self._world.is_ending:
            act = self._draws.choice(
                (self._post, self._create, self._delete, self._delete, self._release, self._renew)
            )
            try:
                self._model.ask(act)
            except ConnectionLostError:
                self._world.tell(f"{self._name} lost its connection in {act.__name__}")
                self._forget()
            except OSError as error:
                self._world.tell(f"{self._name} was refused {act.__name__}: {error}")
            yield self._draws.random() * 12

    def _post(self, queues: QueueEngine) -> None:
        new = [MessageToPost(b"{}", _TTL) for _ in range(self._draws.randrange(1, 4))]
        for id_ in queues.messages.post(QUEUE, new, self._name):
            self._model.work[id_] = PostedWork()
            self._world.tell(f"{self._name} posted {id_}")

    def _create(self, queues: QueueEngine) -> None:
        limit = self._draws.randrange(1, 5)
        held = queues.claims.create(QUEUE, ttl=60, grace=60, limit=limit, client=self._name)
        if held is None:
            return
        now = self._world.clock.time()
        self._claim, self._held, self._until = held.claim.id, [each.id for each in held.messages], now + 60
        self._world.tell(f"{self._name} claimed {' '.join(self._held)}")
        for id_ in self._held:
            self._world.require(id_ not in self._model.gone, _DELETED, f"{id_} is given out")
            posted = self._model.work.setdefault(id_, PostedWork())
            self._world.require(
                not posted.holder or posted.until <= now, "no claim held twice",
                f"{id_} goes to {self._name}, and {posted.holder} has it until {posted.until}, {now} now",
            )  # fmt: skip
            posted.holder, posted.until = self._name, self._until

    def _renew(self, queues: QueueEngine) -> None:
        if not self._claim:
            return
        with self._freed():
            try:
                queues.claims.renew(QUEUE, self._claim, ttl=90, grace=60)
            except ClaimNotThereError:
                self._require_over()
                self._forget()
                return
            self._until = self._world.clock.time() + 90

    def _delete(self, queues: QueueEngine) -> None:
        if not self._held:
            return
        id_ = self._held[-1]
        posted = self._model.work[id_]
        posted.may_be_gone = True
        try:
            queues.messages.delete(QUEUE, id_, self._claim)
        except (ClaimNotThereError, MessageClaimedError, MessageNotClaimedError):
            self._require_over()
            posted.may_be_gone = False
            return
        except OSError:
            posted.may_be_gone = False
            raise
        self._held.pop()
        self._model.gone.add(id_)
        del self._model.work[id_]
        self._world.tell(f"{self._name} deleted {id_}")

    def _release(self, queues: QueueEngine) -> None:
        if self._claim:
            with self._freed():
                queues.claims.release(QUEUE, self._claim)
                self._forget()

    @contextmanager
    def _freed(self) -> Iterator[None]:
        """Hold nothing by the model while an operation on the claim may end half done."""
        mine = [each for id_ in self._held if (each := self._model.work[id_]).holder == self._name]
        for each in mine:
            each.holder = ""
        try:
            yield
        except OSError:
            # It had no effect.
            for each in mine:
                each.holder = self._name
            raise
        for id_ in self._held:
            self._model.work[id_].holder, self._model.work[id_].until = self._name, self._until

    def _forget(self) -> None:
        self._claim, self._held = "", []

    def _require_over(self) -> None:
        now = self._world.clock.time()
        self._world.require(
            now >= self._until, "nothing acknowledged lost",
            f"the claim of {self._name} is gone at {now}, before {self._until}",
        )  # fmt: skip
