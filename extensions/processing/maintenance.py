"""Maintenance of the store: claim messages that are due, and free messages whose process died."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from extensions.processing.async_message_store import IS_HELD, IS_TAKEN_UP_AGAIN, AsyncStore
from extensions.processing.calls import Calls
from extensions.processing.ordering import Ordering
from extensions.processing.processing_errors import ProcessingCode
from extensions.processing.processing_parameters import Parameters
from extensions.processing.progress import Progress
from extensions.processing.stored_messages import Message
from extensions.processing.transitions import Cause

_BATCH: Final = 100
_MAX_LOST_CLAIMS: Final = 5


class Maintenance:
    """Maintains the messages of all processes that share the store."""

    def __init__(
        self, store: AsyncStore, parameters: Parameters, calls: Calls, ordering: Ordering, progress: Progress
    ) -> None:
        self._store = store
        self._parameters = parameters
        self._calls = calls
        self._ordering = ordering
        self._progress = progress

    def claim_due(self, endpoints: Sequence[str]) -> list[Message]:
        """Claim messages PARTLY_FAILED or POSTPONED whose interval is over; they are IN_QUEUE afterwards.

        Only messages of the given start endpoints are claimed, in the order of their timestamps. Another
        process may claim at the same time: after six lost claims the rest is left to that process.
        """
        taken: list[Message] = []
        lost = 0
        now = self._store.clock.time()
        due = self._store.rows(_DUE, now, msgspec.json.encode(endpoints).decode(), _BATCH)
        for number, step in due:
            lease, owner = self._store.clock.time() + self._parameters.lease, self._store.owner
            message = self._store.change(number, Cause.QUEUED, held=step, owner=owner, lease=lease, due=None)
            if message is None:
                lost += 1
                if lost > _MAX_LOST_CLAIMS:
                    break
            elif self._postpone_unless_its_turn(message):
                taken.append(message)
        return taken

    def free_stuck(self) -> int:
        """Free the messages whose process died, and return their number.

        Each counts as a failed attempt. Its unfinished calls are FAILED, since their outcome is unknown.
        """
        freed = 0
        while stuck := self._store.rows(_STUCK, self._store.clock.time(), _BATCH):
            for number, step, failed in stuck:
                freed += self._free(number, step, failed)
        return freed

    def _postpone_unless_its_turn(self, message: Message) -> bool:
        """Return True when no earlier message is open; else postpone this one, or fail it after too long."""
        with self._store.transaction():
            ahead = self._ordering.find_predecessor(message)
            if ahead is None:
                return True
            why = f"message {ahead} is ahead in the order of {message.funnel}"
            if self._ordering.has_waited_too_long(message):
                ended = {
                    "error_code": ProcessingCode.POSTPONED_TOO_LONG,
                    "description": f"postponed too long: {why}",
                }
                self._progress.move(message.number, Cause.OUT_OF_ORDER, held=message.step, why=why, **ended)
            else:
                due = self._store.clock.time() + self._parameters.postponed_interval
                self._progress.move(message.number, Cause.POSTPONED, held=message.step, why=why, due=due)
            return False

    def _free(self, number: int, step: int, failed: int) -> bool:
        last = failed >= self._parameters.partly_fails_before_failed
        now, why = self._store.clock.time(), "the process that had it is gone"
        columns = {"failed": failed + 1, "error_code": ProcessingCode.STUCK, "description": why, "due": now}
        with self._store.transaction():
            self._calls.give_up_stuck(number)
            cause = Cause.STUCK_TOO_OFTEN if last else Cause.STUCK
            return self._progress.move(number, cause, held=step, why=why, **columns) is not None


_DUE: Final = f"""
SELECT number, step FROM (
  SELECT number, step, timestamp FROM messages INDEXED BY due WHERE {IS_TAKEN_UP_AGAIN} AND due <= ?
    AND 'direct:' || service || '_' || operation || '_out_route' IN (SELECT value FROM json_each(?))
  ORDER BY due LIMIT ?
) ORDER BY timestamp, number
"""  # noqa: S608 -- conditions of ours
_STUCK: Final = f"""
SELECT number, step, failed FROM messages INDEXED BY held WHERE {IS_HELD} AND lease <= ? LIMIT ?
"""  # noqa: S608 -- as above
