"""The receiver: each message is validated, deduplicated, joined and processed in one transaction.

    channel.read -> status? -- known --------------------------------> count
                      | new
                      v
                  validate -- invalid ------------------------------> error or invalid queue
                      | valid                                             ^
                      +-- part of a sequence: wait, join --+              | refused
                      v                                    v              |
                  application <--------------------------- + -------------+

The message's status, the application's writes, the outgoing rejects and the shard's checkpoint are committed
together. Only then is the delivery committed to the channel.

What a ``PreparingApplication`` prepares comes before that transaction, on the thread of its shard: the
transaction asks for it, is rolled back, and begins anew when it is there.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Final, NamedTuple, TypeAlias

from emulator.back_off import back_off
from emulator.channels.channel import Channel, ChannelUnavailableError, Delivery
from emulator.clock import Clock
from sandbox.receiver.receiving_application import (
    Application,
    ApplicationError,
    Arrival,
    PreparingApplication,
    Refused,
)
from sandbox.receiver.rejects import Rejects
from sandbox.receiver.shard_threads import ShardThreads
from sandbox.repository import ArrivalStatus, Outcome, Repository, RollbackFailedError, WaitingPart
from schemas import contract
from schemas.bound import CONTRACT
from schemas.contract import Code, Contract, Peek, Sequences, Verdict, judge_received

OUTAGE_SECONDS: Final = 30.0
"""The time in seconds that a running receiver tolerates a channel that cannot be read."""
SHARED_MESSAGE_ID: Final = "shared messageId"
"""The repository's counter for parts of a sequence that share the messageId of another part."""
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_BUSY_WAIT: Final = 0.2
"""The most seconds to wait for records while threads are at work: what they have done is given back then."""

_LOG = logging.getLogger(__name__)
_Refusal: TypeAlias = tuple[Code, str]


class _Came(NamedTuple):
    """A message that came: its bytes, the key that its transport knows it by, and their SHA-256."""

    data: bytes
    key: str
    seen: Peek
    digest: bytes


class _NotPreparedError(Exception):
    """The message needs preparation, outside of the transaction that raises this."""

    def __init__(self, arrival: Arrival) -> None:
        super().__init__("the message is not prepared")
        self.arrival = arrival


class Receiver:
    """Reads one channel for one application.

    A message goes to the application, joined if it came in parts, or to the error or invalid queue. A message
    that is already known, or that this application sent itself, is dropped. The repository counts the
    outcomes. ``refused`` is called for each message that the application refused, so that it can answer the
    sender. ``patience`` is how many seconds a sequence waits for its parts, by default the contract's.
    """

    def __init__(
        self,
        channel: Channel,
        repository: Repository,
        application: Application,
        rejects: Rejects,
        clock: Clock,
        *,
        contract: Contract = CONTRACT,
        patience: float | None = None,
        refused: Refused = lambda _arrival, _code, _why: None,
    ) -> None:
        self._channel = channel
        self._repository = repository
        self._application = application
        self._rejects = rejects
        self._clock = clock
        self._contract = contract
        self._peek, self._judge = contract.peek, judge_received(contract)
        self._sequences = contract.sequences
        if patience is None:
            patience = contract.sequences.patience if contract.sequences else 0.0
        self._patience = patience
        self._refused = refused
        self._prepare = application.prepare if isinstance(application, PreparingApplication) else None
        self._prepared: dict[bytes, _Refusal | None] = {}
        self._threads = ShardThreads(self._take)

    def close(self) -> None:
        """Give up what the threads of the shards have in hand; it is received again."""
        self._threads.close()

    def run(
        self,
        finished: Callable[[], bool],
        *,
        wait: float = 0.2,
        limit: int = 500,
        outage: float = OUTAGE_SECONDS,
    ) -> None:
        """Receive until nothing arrived for ``wait`` seconds and ``finished`` is true.

        A channel that cannot be read is tried again after growing pauses. Raises ``ChannelUnavailableError``
        when it still cannot be read after ``outage`` seconds.
        """
        while self._step_with_retries(outage, limit, wait) or not finished():
            pass

    def step(self, *, limit: int = 500, wait: float = 0.0) -> int:
        """Receive at most ``limit`` messages, waiting at most ``wait`` seconds, and return their number.

        Messages of a ``PreparingApplication`` are shared out among the threads of their shards. A step that
        waits leaves them there and returns how many are done, or how many shards are still in hand.
        """
        # What an earlier step or process kept and did not send.
        self._rejects.flush()
        if self._prepare is not None:
            came = self._share_out(limit, wait)
        else:
            deliveries = self._channel.read(limit=limit, wait=wait)
            for delivery in deliveries:
                self.receive(delivery)
            came = len(deliveries)
        self.give_up_late_sequences()
        return came

    def _share_out(self, limit: int, wait: float) -> int:
        in_hand = self._threads.in_hand
        wait = min(wait, _BUSY_WAIT) if in_hand else wait
        patience = 0.0 if wait else None
        try:
            self._threads.start(self._channel.read(limit=limit, wait=wait, in_hand=in_hand))
        except ChannelUnavailableError:
            if not in_hand:
                raise
            patience = _BUSY_WAIT  # a shard that is refused does not stop the others
        done, busy = self._threads.give_back(patience)
        for delivery in done:
            self._channel.commit(delivery)
        self._rejects.flush()
        return len(done) or busy

    def _step_with_retries(self, outage: float, limit: int, wait: float) -> int:
        until = self._clock.elapsed() + outage
        for pause in back_off(_FIRST_PAUSE, _LONGEST_PAUSE):
            try:
                return self.step(limit=limit, wait=wait)
            except ChannelUnavailableError as error:
                if self._clock.elapsed() >= until:
                    raise
                _LOG.warning("%s: trying again in %g s: %s", self._contract.failures.system, pause, error)
            self._clock.wait(pause)
        raise AssertionError("the pauses do not end")

    def receive(self, delivery: Delivery) -> None:
        """Process one delivery completely, its commit and the dispatch of rejects included."""
        # In this order: what is committed and not settled would be lost in a crash.
        self._take(delivery)
        self._channel.commit(delivery)
        self._rejects.flush()

    def _take(self, delivery: Delivery) -> None:
        """Prepare and settle one delivery; of a message, or a sequence, only one at a time."""
        if self._prepare is None:
            self._settle_or_undo(delivery)
            return
        peek = self._peek(delivery.data, delivery.key)
        part = peek.part
        with self._threads.alone(part.sequence if part else peek.message_id):
            try:
                self._settle_or_undo(delivery)
            except _NotPreparedError as asked:
                arrival = asked.arrival
                self._prepared[arrival.data] = self._attempt(partial(self._prepare, arrival))
                try:
                    # What is closed by now may be the reason of a refusal.
                    if not self._threads.closed:
                        self._settle_or_undo(delivery)
                finally:
                    del self._prepared[arrival.data]

    def _settle_or_undo(self, delivery: Delivery) -> None:
        try:
            self._settle(delivery, self._decide)
        except RollbackFailedError as error:
            why = str(error)
            self._settle(delivery, lambda came: self._reject_undone(came, why))

    def _settle(self, delivery: Delivery, decide: Callable[[_Came], None]) -> None:
        with self._repository.transaction():
            data = delivery.data
            peek = self._peek(data, delivery.key)
            decide(_Came(data, delivery.key, peek, sha256(data).digest()))
            # In the transaction of the outcome: after a crash there are both or neither.
            self._repository.save_checkpoint(self._channel.name, delivery.shard, delivery.sequence_number)

    def reject(self, data: bytes, code: Code, why: str) -> None:
        """Move a message that failed after it was accepted to the queue of its code."""
        with self._repository.transaction():
            self._rejects.keep(data, code, why)
            self._refused(Arrival(data, self._peek(data), 1), code, why)
        self._rejects.flush()

    def give_up_late_sequences(self) -> None:
        """Reject the parts of sequences whose other parts did not arrive in time."""
        if self._sequences is None:
            return
        for sequence in self._repository.overdue(self._clock.time() - self._patience):
            with self._repository.transaction():
                parts = self._repository.parts(sequence)
                if not parts:  # the last one came meanwhile, on the thread of its shard
                    continue
                late = self._sequences.judge_overdue(sequence, len(parts), parts[0].total, self._patience)
                self._reject_parts(parts, *self._refusal(late))
            self._rejects.flush()

    def _decide(self, came: _Came) -> None:
        peek = came.seen
        message_id = None if peek.damaged else peek.message_id
        part = peek.part
        place = (part.sequence, part.position) if part else None
        status = self._repository.arrival_status(self._channel.name, message_id, came.digest, place)
        if status is not ArrivalStatus.NEW:
            self._repository.count(status)
            return
        verdict = self._judge(came.data, now=self._clock.time())
        if not verdict.valid:
            self._reject(came, *self._refusal(verdict))
        elif part is not None and self._sequences is not None:
            self._take_part(came, part, self._sequences)
        else:
            self._hand_over(self._arrival(verdict, came.data, peek, 1), came)

    def _record(
        self, came: _Came, outcome: Outcome, code: Code | None = None, payload: bytes | None = None
    ) -> None:
        self._repository.record_received(
            self._channel.name, came.seen, came.digest, outcome, code=code, payload=payload
        )

    def _reject(self, came: _Came, code: Code, why: str) -> None:
        self._record(came, Outcome.REJECTED, code)
        self._rejects.keep(came.data, code, why, key=came.key)

    def _hand_over(self, arrival: Arrival, came: _Came) -> None:
        refusal = self._process(arrival)
        if refusal is None:
            self._record(came, Outcome.PROCESSED)
        else:
            self._reject(came, *refusal)
            self._refused(arrival, *refusal)

    def _take_part(self, came: _Came, part: contract.Part, sequences: Sequences) -> None:
        """Store a part; the last part completes the sequence (specification, Multi-Message Sequence)."""
        peek, body = came.seen, self._contract.body
        so_far = self._repository.sequence_progress(part.sequence, part.position, peek.message_id)
        if so_far.finished or (so_far.same is not None and body(so_far.same) == body(came.data)):
            self._repository.count(ArrivalStatus.DUPLICATE)
            return
        verdict = sequences.judge_part(part, total=so_far.total, taken=so_far.same is not None)
        if not verdict.valid:
            self._reject(came, *self._refusal(verdict))
            return
        if so_far.sharing:
            self._repository.count(SHARED_MESSAGE_ID)
        if so_far.sharing == 1:
            _LOG.warning("%s", f"sequence {part.sequence}: {sequences.describe_shared_id(peek.message_id)}")
        self._record(came, Outcome.WAITING, payload=came.data)
        if so_far.count + 1 == part.total:
            self._join(self._repository.parts(part.sequence), sequences)

    def _join(self, parts: list[WaitingPart], sequences: Sequences) -> None:
        whole, verdict = sequences.judge_parts((part.data for part in parts), now=self._clock.time())
        if whole is None:
            self._reject_parts(parts, *self._refusal(verdict))
            return
        arrival = self._arrival(verdict, whole, self._peek(whole), len(parts))
        refusal = self._process(arrival) if verdict.valid else self._refusal(verdict)
        if refusal is None:
            self._repository.finish_parts(parts, Outcome.PROCESSED)
        else:
            code, why = refusal
            self._repository.finish_parts(parts, Outcome.REJECTED, code)
            self._rejects.keep(whole, code, why)
            if verdict.valid:
                self._refused(arrival, code, why)

    def _reject_parts(self, parts: list[WaitingPart], code: Code, why: str) -> None:
        self._repository.finish_parts(parts, Outcome.REJECTED, code)
        for part in parts:
            self._rejects.keep(part.data, code, why)

    def _reject_undone(self, came: _Came, why: str) -> None:
        """Reject a message whose processing could not be rolled back, together with its other parts."""
        own, code = came.seen.part, self._contract.failures.rollback
        waiting = self._repository.parts(own.sequence) if own else []
        self._reject_parts(waiting, code, why)
        if own is None or all(part.position != own.position for part in waiting):
            self._reject(came, code, why)

    def _process(self, arrival: Arrival) -> _Refusal | None:
        """Run the application in a savepoint. Returns None, or the refusal after its writes are undone."""
        if self._prepare is not None:
            if arrival.data not in self._prepared:
                raise _NotPreparedError(arrival)
            if (refusal := self._prepared[arrival.data]) is not None:
                return refusal
        return self._attempt(partial(self._apply, arrival))

    def _apply(self, arrival: Arrival) -> None:
        with self._repository.transaction() as store:
            self._application(arrival, store)

    def _attempt(self, work: Callable[[], None]) -> _Refusal | None:
        """Do work of the application and return None, or the refusal that its exception stands for."""
        try:
            work()
        except ApplicationError as error:
            return error.code, str(error)
        except RollbackFailedError:
            raise
        except (OSError, sqlite3.Error) as error:
            return self._contract.failures.system, f"{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 -- one bad message must not stop the others
            return self._contract.failures.unknown, f"{type(error).__name__}: {error}"
        return None

    def _arrival(self, verdict: Verdict, data: bytes, peek: Peek, parts: int) -> Arrival:
        """What the application gets of a message: its present form."""
        if verdict.upgraded is None:
            return Arrival(data, peek, parts)
        return Arrival(verdict.upgraded, self._peek(verdict.upgraded), parts)

    def _refusal(self, verdict: Verdict) -> _Refusal:
        code = verdict.code or self._contract.failures.unknown
        return code, verdict.why or code.description
