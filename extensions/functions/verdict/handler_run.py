"""A run of a handler: the stages of a consumer, and those that only batches have."""

from __future__ import annotations

from contextlib import AbstractContextManager

from extensions.functions.verdict.handler_attempt import HandlerAttempt
from extensions.functions.verdict.handler_lab import LITTLE_TIME, LOST_ANSWER, STANDSTILL, HandlerLab
from sandbox.certify.consumer_run import ConsumerRun
from sandbox.certify.kit_messages import POISON
from sandbox.certify.stages import Stage

_SENT_AGAIN = 3
_BESIDE = 3
_UNREADABLE = "unreadable"
"""The partition key of poison."""


class HandlerRun(ConsumerRun):
    """Plays the stages against a handler."""

    def __init__(self, attempt: HandlerAttempt, lab: HandlerLab) -> None:
        super().__init__(attempt, lab)
        self._handler_lab = lab
        self._plays |= {
            "new environments": self.restart,
            "poison": self.poison,
            "time-outs": self.time_outs,
            "order": self.order,
        }

    def _wait_until_reading(self) -> bool:
        """What is sent before the mapping reads is handed over too."""
        return True

    def _wait_for_a_read(self) -> None:
        """A mapping reads again by itself."""

    def _gathering(self) -> AbstractContextManager[None]:
        return self._handler_lab.gathering(lambda place: self.send_to(place, 1))

    def _kill_in(self, seconds: float) -> None:
        """Kill, and wait until what was under way is done: a mapping gives up what fails again and again."""
        super()._kill_in(seconds)
        self._settle()

    # Stages

    def duplicates(self, stage: Stage) -> None:
        """Send some messages twice, and have a batch handed over again whose answer was lost."""
        ids = self.send(stage.messages // 2)
        self._settle()
        self.send_again(ids[:_SENT_AGAIN])
        self._attempt.wait_for_rest()
        self._handler_lab.strike_next(LOST_ANSWER)
        self.send(stage.messages // 2)

    def poison(self, stage: Stage) -> None:
        """Put what is no message between messages of one batch."""
        shard = self._lab.shard_of(_UNREADABLE)
        for number in range(stage.messages):
            with self._gathering():
                self.send_to(shard, _BESIDE)
                self._handler_lab.put_poison(b"%b, %d" % (POISON, number))
                self.send_to(shard, _BESIDE)
            self._attempt.wait(lambda: not self._lab.keeps_poison())

    def time_outs(self, stage: Stage) -> None:
        """Let the process stand still, until its time-out or until little time is left."""
        shard = self._lab.shard_of(_UNREADABLE)
        for what in (STANDSTILL, LITTLE_TIME):
            with self._gathering():
                self._handler_lab.strike_next(what)
                self.send_to(shard, stage.messages // 2)
            self._settle()

    def order(self, stage: Stage) -> None:
        """Put messages under one key, in one batch; of the second batch the answer is lost."""
        for lost in (False, True):
            with self._gathering():
                messages = [self._messages.good() for _ in range(stage.messages // 2)]
                self._expect(messages)
                self._handler_lab.put_in_order(messages)
                if lost:
                    self._handler_lab.strike_next(LOST_ANSWER)
            self._settle()
