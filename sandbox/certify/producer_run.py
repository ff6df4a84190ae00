"""A run of a producer: one file of messages, whose stages lie one behind the other in it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rdss_sandbox.files.ndjson import wrap_line
from rdss_sandbox.shapes.trace import Put, TraceItem
from sandbox.certify.attempt import Attempt, KillMoment
from sandbox.certify.gate import PUTS
from sandbox.certify.history import OfferedMessage, SentBad, SentSequence
from sandbox.certify.kill_moments import spread
from sandbox.certify.kit_messages import KitMessages, are_lines
from sandbox.certify.lab import Lab
from sandbox.certify.stages import Stage
from schemas.contract import Sample

FILE_NAME: Final = "messages.ndjson"
KEYS_NAME: Final = "keys.txt"
"""The key of each message of the file, a line each: what names it, where it does not name itself."""
_STRUCK: Final = 3
_TIMES: Final = 3
_OUTLASTING: Final = 5
"""As often as the most patient SDK tries before it leaves a failure to its caller."""
_BIG_PARTS: Final = 2
_FOR_EACH_KILL: Final = 8
_PARTS: Final = {"restart": 1, "killed before the answer": 1, "killed after telling": 1, "sequences": 2}
"""The part of the file in which a stage's messages lie; all others are in the first one."""


class ProducerRun:
    """Writes the file, puts the faults of its stages in force, and starts the producer until it is done.

    The stages in which the producer is ended are a second part: what is missing when the first part is done
    has not been lost by a death, and no later start can repair it in time. What is too large comes last,
    since a producer that cannot cut it gets no further.
    """

    def __init__(self, attempt: Attempt, lab: Lab, file: Path) -> None:
        self._attempt = attempt
        self._lab = lab
        self._file = file
        self._messages = KitMessages(lab.contract, lab.seed, lab.recorded)
        self._write_line = bytes if are_lines(lab.contract) else wrap_line
        self._stage_of: dict[str, Stage] = {}
        self._faulty: set[str] = set()
        # What is not here is tried by its messages alone.
        self._plays: dict[str, Callable[[Sequence[str]], None]] = {
            "delays": self.delays,
            "restart": self.restart,
            "partial failures": self.partial_failures,
            "nacked messages": self.partial_failures,
            "nacked in the contract": self.partial_failures,
            "returned messages": self.returned_messages,
            "throttling": self.throttling,
            "errors": self.errors,
            "killed before the answer": self.killed_before_the_answer,
            "killed after telling": self.killed_after_telling,
        }

    def play(self, stages: Sequence[Stage], progress: Callable[[str], None]) -> None:
        """Play the stages. Raises ``ClientNotStartedError``."""
        attempt = self._attempt
        parts = [[each for each in stages if _PARTS.get(each.name, 0) == part] for part in range(3)]
        try:
            with self._lab.watching(self._watch):
                for part in filter(None, parts):
                    self._append(part)
                    attempt.enter(part[0])
                    done = False
                    while not (done or attempt.gave_up or attempt.worn_out or attempt.overdue):
                        progress(f"start {len(self._lab.history.lives) + 1}")
                        attempt.start()
                        done = attempt.wait_for_end() == 0
                    self._lab.collect()
                    attempt.leave()
                    if attempt.gave_up or attempt.worn_out:
                        return
        finally:
            attempt.end()

    def _append(self, stages: Sequence[Stage]) -> None:
        """Add the messages of some stages to the file, and put their faults in force."""
        keys = self._file.with_name(KEYS_NAME)
        with self._file.open("ab") as file, keys.open("a", encoding="utf-8") as names:
            for stage in stages:
                self._messages.begin(stage.name)
                made = [self._make_message(stage) for _ in range(stage.messages)]
                file.writelines(self._write_line(each.data) + b"\n" for each in made)
                names.writelines(f"{each.key}\n" for each in made)
                if plays := self._plays.get(stage.name):
                    plays([each.key for each in made])

    def _make_message(self, stage: Stage) -> Sample:
        """Make the next message of a stage, and note that it is to be sent, or passed over."""
        lab, large, history = self._lab, stage.name == "sequences", self._lab.history
        if stage.name == "expired messages":
            message, code = self._messages.expired()
            lab.add(history.bad, SentBad(message.key, str(code), str(code.queue), lab.now))
        else:
            message = self._messages.maker.big_message(_BIG_PARTS) if large else self._messages.good()
            digest = self._messages.digest(message)
            if large:
                lab.add(history.sequences, SentSequence((message.key,), digest, lab.now))
            else:
                lab.add(history.sent, OfferedMessage(message.key, digest, stage.level, lab.now))
            self._stage_of[message.key] = stage
        lab.known.add(message.key)
        return message

    # Stages

    def delays(self, ids: Sequence[str]) -> None:
        for message_id in ids[:_STRUCK]:
            self._strike("latency", message_id, delay="200ms")

    def restart(self, ids: Sequence[str]) -> None:
        self._attempt.plan_death(signal.SIGTERM, KillMoment.TOLD, ids[len(ids) // 2])

    def partial_failures(self, ids: Sequence[str]) -> None:
        for message_id in ids[:: max(1, len(ids) // _STRUCK)]:
            self._strike("partial_failure", message_id)

    def returned_messages(self, ids: Sequence[str]) -> None:
        """Return some messages as if no queue were bound: a broker confirms them all the same."""
        for message_id in ids[:: max(1, len(ids) // _STRUCK)]:
            self._strike("error", message_id, code="NO_ROUTE")

    def throttling(self, ids: Sequence[str]) -> None:
        first, *others = ids[:: max(1, len(ids) // _STRUCK)]
        self._strike("throttle", first, times=_OUTLASTING)
        for message_id in others:
            self._strike("throttle", message_id, times=_TIMES)

    def errors(self, ids: Sequence[str]) -> None:
        self._strike("error", ids[0], times=_OUTLASTING)
        self._strike("error", ids[len(ids) // 3], written=True)
        self._strike("disconnect", ids[2 * len(ids) // 3])
        self._strike("disconnect", ids[-1], written=True)

    def killed_before_the_answer(self, ids: Sequence[str]) -> None:
        """Kill the producer on its way to a put, and in puts that are taken and such as are refused."""
        put = _spread(ids)
        parts = spread(self._lab.chance.draws("before a put"), len(put))
        for number, (message_id, part) in enumerate(zip(put, parts, strict=True)):
            if number % 2:
                self._strike("throttle", message_id)
            self._attempt.plan_death(signal.SIGKILL, KillMoment.PUT, message_id)
            earlier = ids[ids.index(message_id) - _FOR_EACH_KILL // 2]
            self._attempt.plan_death(signal.SIGKILL, KillMoment.TOLD, earlier, part)

    def killed_after_telling(self, ids: Sequence[str]) -> None:
        for message_id in _spread(ids):
            self._attempt.plan_death(signal.SIGKILL, KillMoment.TOLD, message_id)

    def _strike(self, fault: str, message_id: str, *, times: int = 1, **attributes: object) -> None:
        self._faulty.add(message_id)
        self._lab.strike_message(fault, message_id, "publish", times, attributes)

    def _watch(self, exchange: TraceItem) -> None:
        """Begin the stage of the messages that are put, and kill the producer where that is planned.

        A call can have messages of two stages: where it failed, the stage is that of the message that did it.
        """
        if not isinstance(exchange, Put):
            return
        ids = [entry.message_id or "" for entry in exchange.entries]
        refused = [entry.message_id or "" for entry in exchange.entries if entry.error]
        if exchange.error:
            refused = [each for each in ids if each in self._faulty]
        if found := [stage for each in refused or ids if (stage := self._stage_of.get(each))]:
            for stage in dict.fromkeys(found):
                self._attempt.enter(stage)
        if self._attempt.plans_death(KillMoment.TOLD, ids):
            # The call after this one waits until the producer has told, and is dead.
            self._lab.gate.close((PUTS,))
        self._attempt.strike_when(KillMoment.PUT, ids)


def _spread(ids: Sequence[str]) -> Sequence[str]:
    """Some of the messages, as far apart as there are kills."""
    kills = max(1, len(ids) // _FOR_EACH_KILL)
    return ids[len(ids) // kills // 2 :: len(ids) // kills]
