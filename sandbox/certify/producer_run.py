"""A run of a producer: one file of messages, whose stages lie one behind the other in it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from emulator.clock import Clock
from rdss_sandbox.shapes.faults import NewFault
from sandbox.certify.attempt import Attempt, Moment
from sandbox.certify.exchange import Exchange, Put
from sandbox.certify.gate import PUTS
from sandbox.certify.history import Sent, SentSequence
from sandbox.certify.lab import INPUT, Lab
from sandbox.certify.stages import Stage
from sandbox.judging.arrivals import body_digest
from schemas.envelope import serialise
from schemas.peek import peek
from schemas.samples import Samples

FILE_NAME: Final = "messages.ndjson"
_STRUCK: Final = 3
_TIMES: Final = 3
_BIG_PARTS: Final = 2


class ProducerRun:
    """Writes the file, puts the faults of all stages in force, and starts the producer until it is done.

    What a stage does is the method of its name.
    """

    def __init__(self, attempt: Attempt, lab: Lab, file: Path) -> None:
        self._attempt = attempt
        self._lab = lab
        self._file = file
        self._samples = Samples(lab.seed, now=Clock().time())
        self._stage_of: dict[str, Stage] = {}
        self._faulty: set[str] = set()
        self._done = False

    def play(self, stages: Sequence[Stage], progress: Callable[[str], None]) -> None:
        """Play the stages. Raises ``ClientNotStartedError``."""
        with self._file.open("wb") as file:
            for stage in stages:
                ids = [self._write_message(file.write, stage) for _ in range(stage.messages)]
                getattr(self, stage.name.replace(" ", "_"))(ids)
        attempt = self._attempt
        attempt.enter(stages[0])
        try:
            with self._lab.watching(self._watch):
                while not self._done:
                    progress(f"start {len(self._lab.history.lives) + 1}")
                    attempt.start()
                    self._done = attempt.wait_for_end() == 0 or attempt.gave_up
        finally:
            attempt.end()

    def _write_message(self, write: Callable[[bytes], int], stage: Stage) -> str:
        lab = self._lab
        large = stage.name == "sequences"
        made = self._samples.big_message(_BIG_PARTS) if large else self._samples.message("MetadataCreate")
        message = serialise(made)
        message_id, digest = peek(message).message_id or "", body_digest(message)
        lab.known.add(message_id)
        if large:
            whole = SentSequence((message_id,), digest, lab.now)
            lab.note(lambda history: history.sequences.append(whole))
        else:
            sent = Sent(message_id, digest, stage.level, lab.now)
            lab.note(lambda history: history.sent.append(sent))
        self._stage_of[message_id] = stage
        write(message + b"\n")
        return message_id

    # Stages

    def quiet(self, ids: Sequence[str]) -> None:
        """Nothing happens to these messages."""

    def delays(self, ids: Sequence[str]) -> None:
        for message_id in ids[:_STRUCK]:
            self._strike("latency", message_id, delay="200ms")

    def restart(self, ids: Sequence[str]) -> None:
        self._attempt.plan_death(signal.SIGTERM, Moment.TOLD, ids[len(ids) // 2])

    def partial_failures(self, ids: Sequence[str]) -> None:
        for message_id in ids[:: max(1, len(ids) // _STRUCK)]:
            self._strike("partial_failure", message_id)

    nacked_messages = nacked_in_the_contract = partial_failures

    def returned_messages(self, ids: Sequence[str]) -> None:
        """Return some messages as if no queue were bound: a broker confirms them all the same."""
        for message_id in ids[:: max(1, len(ids) // _STRUCK)]:
            self._strike("error", message_id, code="NO_ROUTE")

    def throttling(self, ids: Sequence[str]) -> None:
        for message_id in ids[:: max(1, len(ids) // _STRUCK)]:
            self._strike("throttle", message_id, times=_TIMES)

    def errors(self, ids: Sequence[str]) -> None:
        self._strike("error", ids[0])
        self._strike("error", ids[len(ids) // 3], written=True)
        self._strike("disconnect", ids[2 * len(ids) // 3])
        self._strike("disconnect", ids[-1], written=True)

    def killed_before_the_answer(self, ids: Sequence[str]) -> None:
        self._attempt.plan_death(signal.SIGKILL, Moment.PUT, ids[len(ids) // 2])

    def killed_after_telling(self, ids: Sequence[str]) -> None:
        self._attempt.plan_death(signal.SIGKILL, Moment.TOLD, ids[len(ids) // 2])

    def sequences(self, ids: Sequence[str]) -> None:
        """Large messages need no fault."""

    def _strike(self, fault: str, message_id: str, *, times: int = 1, **attributes: object) -> None:
        self._faulty.add(message_id)
        self._lab.strike(
            NewFault(
                fault,
                name=f"{fault}-{message_id[:8]}",
                channel=INPUT,
                direction="publish",
                attributes=dict(attributes),
                when={"match": {"messageId": message_id}, "fails": times},
            )
        )

    def _watch(self, exchange: Exchange) -> None:
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
            self._attempt.enter(found[-1])
        if self._attempt.plans_death(Moment.TOLD, ids):
            # The call after this one waits until the producer has told, and is dead.
            self._lab.gate.close((PUTS,))
        self._attempt.strike_when(Moment.PUT, ids)
