"""What the clients of a kind of channel are certified with, for each kind that declares it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from emulator.channels.kind_registry import KINDS
from rdss_sandbox.extension import import_place
from sandbox.certify.attempt import Attempt
from sandbox.certify.clause import Role
from sandbox.certify.consumer_run import ConsumerRun
from sandbox.certify.kit_messages import POISON
from sandbox.certify.lab import Lab
from sandbox.certify.queue_lab import QueueLab
from sandbox.certify.stages import DOES, QUEUE_STAGES, STREAM_STAGES, Stage
from schemas.contract import Contract


class QueueConsumerRun(ConsumerRun):
    """Plays the stages against a consumer of a queue."""

    def __init__(self, attempt: Attempt, lab: QueueLab) -> None:
        super().__init__(attempt, lab)
        self._queue_lab = lab
        self._plays |= {"cut connections": self.cut_connections, "poison": self.poison}

    def _wait_until_reading(self) -> bool:
        """Wait until the client has subscribed, or asked for a message. Returns False when it does not."""
        history = self._lab.history
        return self._attempt.wait(lambda: bool(history.subscriptions() or history.reads()))

    # Stages

    def cut_connections(self, stage: Stage) -> None:
        """Cut the connection at some messages, and close the channel at others.

        Each time the client is let to have started up first, so that it does not depend on the machine what
        is struck.
        """
        half = stage.messages // 2
        for fault in ("disconnect", "error"):
            self._attempt.wait_for_quiet()
            self.send(half, fault=fault)
            self._settle()

    def poison(self, stage: Stage) -> None:
        """Put what is no message between messages."""
        for number in range(stage.messages):
            self._queue_lab.put_poison(b"%b, %d" % (POISON, number))
            self.send(1)


class Certified(NamedTuple):
    """The sandbox of a trial, what plays a consumer's stages in it, and every stage of a role, in order.

    ``headers`` says whether the kind of channel carries headers beside messages. ``attempt`` starts and ends
    the client, which ``sandbox certify`` calls by its role where it has no ``subcommand`` of its own.
    ``does`` says of each stage what the kit does in it, in a sentence.
    """

    lab: Callable[[int, Contract], Lab]
    consumer_run: Callable[[Any, Any], ConsumerRun]
    stages: Mapping[Role, tuple[Stage, ...]]
    headers: bool = False
    attempt: Callable[..., Attempt] = Attempt
    subcommand: str = ""
    does: Mapping[str, str] = DOES


STREAM: Final = Certified(Lab, ConsumerRun, STREAM_STAGES)
QUEUE: Final = Certified(QueueLab, QueueConsumerRun, QUEUE_STAGES, headers=True)


def find_certified(kind: str) -> Certified:
    """Find what clients of a kind are certified with, which declares it."""
    found: Certified = import_place(KINDS[kind].certified)
    return found
