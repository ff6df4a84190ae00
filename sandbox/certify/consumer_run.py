"""A run of a consumer: its stages, one function each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from emulator.clock import Clock
from rdss_sandbox.shapes.faults import NewFault
from sandbox.certify.attempt import Attempt, ClientGivesUpError
from sandbox.certify.exchange import Exchange, Read
from sandbox.certify.history import Returned, Sent, SentBad, SentOlder, SentSequence
from sandbox.certify.lab import ERROR, INPUT, INVALID, OUTPUT, Lab
from sandbox.certify.stages import Stage
from sandbox.judging.arrivals import body_digest
from schemas.envelope import serialise
from schemas.error_codes import ErrorCode
from schemas.peek import peek
from schemas.sample_older_versions import UPGRADED_RELEASES, older_sample
from schemas.samples import Samples
from schemas.sequence import split_raw

_SENT_AGAIN: Final = 3
_THIRD: Final = 3
_REFUSALS: Final = 2
_AT_ONCE: Final = 5
_IN_HAND_SECONDS: Final = 0.05
_PART_BYTES: Final = 20_000
BAD_CODES: Final = (
    ErrorCode.GENERR001,
    ErrorCode.GENERR002,
    ErrorCode.GENERR004,
    ErrorCode.GENERR007,
    ErrorCode.GENERR010,
)


class ConsumerRun:
    """Plays the stages against a consumer: what a stage does is the method of its name."""

    def __init__(self, attempt: Attempt, lab: Lab) -> None:
        self._attempt = attempt
        self._lab = lab
        self._samples = Samples(lab.seed, now=Clock().time())
        self._given_up: set[str] = set()
        self._not_delivered: set[tuple[str, str]] = set()
        self._expected: set[str] = set()

    def play(self, stages: Sequence[Stage], progress: Callable[[str], None]) -> None:
        """Play the stages. Raises ``ClientNotStartedError``."""
        attempt = self._attempt
        attempt.enter(stages[0])
        attempt.start()
        try:
            # Of a client that reads nothing the first stage tells as much as all of them.
            for stage in stages if self._wait_until_reading() else stages[:1]:
                progress(stage.name)
                attempt.enter(stage)
                getattr(self, stage.name.replace(" ", "_"))(stage)
                self._settle()
                self._lab.end_faults()
            attempt.wait_for_rest()
        except ClientGivesUpError:
            return
        finally:
            attempt.end()

    # Sending

    def send(self, count: int, *, twice: int = 0, fault: str = "", **attributes: str) -> list[str]:
        """Send valid messages, the first ``twice`` of them two times; return their ids.

        A ``fault`` with these attributes strikes the first delivery of every third: which ones does not
        depend on the order in which the client reads its shards.
        """
        messages = [serialise(self._samples.message("MetadataCreate")) for _ in range(count)]
        ids = self._expect(messages)
        for message_id in ids[::_THIRD] if fault else ():
            self._lab.strike(
                NewFault(
                    fault,
                    name=f"{fault}-{message_id}",
                    channel=INPUT,
                    direction="deliver",
                    attributes=attributes,
                    when={"match": {"messageId": message_id}, "fails": 1},
                )
            )
        self._put([*messages, *messages[:twice]])
        return ids

    def send_to(self, shard: str, count: int, *, held_up: bool = False) -> None:
        """Send valid messages whose ids all lie on one shard.

        When ``held_up``, the reads that would deliver them are refused twice, as often as an SDK that is left
        as it comes tries again; meanwhile the shard's children can be read.
        """
        found: list[bytes] = []
        while len(found) < count:
            message = serialise(self._samples.message("MetadataCreate"))
            if self._lab.shard_of(peek(message).message_id or "") == shard:
                found.append(message)
        ids = self._expect(found)
        if held_up:
            when = {"match": {"messageId": ids[0]}, "fails": _REFUSALS}
            self._lab.strike(NewFault("throttle", channel=INPUT, direction="deliver", when=when))
        self._put(found)

    def _put(self, messages: Iterable[bytes]) -> None:
        # In several calls, so that a consumer sees more than one batch.
        messages = list(messages)
        for start in range(0, len(messages), _AT_ONCE):
            self._lab.put(messages[start : start + _AT_ONCE])

    def _expect(self, messages: Iterable[bytes]) -> list[str]:
        lab = self._lab
        ids = []
        for message in messages:
            message_id = peek(message).message_id or ""
            sent = Sent(message_id, body_digest(message), lab.level, lab.now)
            lab.note(lambda history, sent=sent: history.sent.append(sent))  # type: ignore[misc]
            ids.append(message_id)
        self._expected.update(ids)
        return ids

    # Waiting

    def _wait_until_reading(self) -> bool:
        """Wait until the client has read each shard, since what is sent before is not for one at LATEST.

        Returns False when it reads nothing.
        """
        attempt, shards = self._attempt, set(self._lab.open_shards())
        return attempt.wait(lambda: shards <= self._read_shards()) or bool(self._read_shards())

    def _read_shards(self) -> set[str]:
        return {each.shard for each in self._lab.history.reads() if not each.error}

    def _settle(self) -> None:
        """Wait until every record is delivered and every message told, or the client is silent.

        What is missing then is not waited for again.
        """
        lab = self._lab
        if not self._attempt.wait(lambda: not self._missing() and lab.undelivered() <= self._not_delivered):
            self._given_up |= self._missing()
            self._not_delivered |= lab.undelivered()

    def _missing(self) -> set[str]:
        return self._expected - self._given_up - self._lab.history.times_told().keys()

    # Stages

    def quiet(self, stage: Stage) -> None:
        self.send(stage.messages)

    def duplicates(self, stage: Stage) -> None:
        self.send(stage.messages, twice=_SENT_AGAIN, fault="duplicate")

    def delays(self, stage: Stage) -> None:
        half = stage.messages // 2
        self.send(half, fault="latency", on="record", delay="400ms")
        self.send(half, fault="latency", on="call", delay="300ms")

    def restart(self, stage: Stage) -> None:
        third = stage.messages // 3
        self.send(third)
        self._settle()
        # With nothing in hand, so that it does not depend on the machine what SIGTERM meets.
        self._attempt.wait_for_rest()
        self._attempt.end()
        self.send(third)
        self._attempt.start()
        self.send(third)

    def throttling(self, stage: Stage) -> None:
        self._strike_reads("throttle", stage)

    def errors(self, stage: Stage) -> None:
        self.send(1, fault="disconnect")
        self._strike_reads("error", stage)

    def expired_iterators(self, stage: Stage) -> None:
        self._strike_reads("expire_iterator", stage)

    def _strike_reads(self, fault: str, stage: Stage) -> None:
        """Let reads fail, each at a message of its own, and again when the client asks again."""
        for _ in range(2):
            with self._lab.holding(self._lab.open_shards()[:1]):
                self.send(stage.messages // 2, fault=fault)
            self._attempt.wait(lambda: not self._missing())

    def split(self, stage: Stage) -> None:
        shard = self._lab.open_shards()[0]
        with self._lab.holding([shard]):
            self.send_to(shard, stage.messages // 2, held_up=True)
            self._lab.split(shard)
            for child in self._lab.open_shards()[-2:]:
                self.send_to(child, stage.messages // 4)

    def merge(self, stage: Stage) -> None:
        pair = self._lab.neighbours()
        with self._lab.holding(pair):
            for shard in pair:
                self.send_to(shard, stage.messages // 4, held_up=True)
            self._lab.merge(pair)
            self.send_to(self._lab.open_shards()[-1], stage.messages // 2)

    def killed_with_records_in_hand(self, stage: Stage) -> None:
        given: list[str] = []

        def watch(exchange: Exchange) -> None:
            if isinstance(exchange, Read):
                given.extend(each.message_id or "" for each in exchange.records)

        with self._lab.watching(watch):
            ids = set(self.send(stage.messages))
            self._attempt.wait(lambda: not ids.isdisjoint(given))
        Clock().wait(_IN_HAND_SECONDS)
        self._attempt.kill()
        self._attempt.start()

    def killed_after_telling(self, stage: Stage) -> None:
        ids = set(self.send(stage.messages))
        self._attempt.wait(lambda: not ids.isdisjoint(self._lab.history.times_told()))
        self._attempt.kill()
        self._attempt.start()

    def killed_while_idle(self, stage: Stage) -> None:
        self.send(stage.messages // 2)
        self._settle()
        self._attempt.wait_for_rest()
        self._attempt.kill()
        self.send(stage.messages // 2)
        self._attempt.start()

    def sequences(self, stage: Stage) -> None:
        lab = self._lab
        for parts in range(2, 2 + stage.messages):
            whole = serialise(self._samples.big_message(parts, limit=_PART_BYTES))
            cut = split_raw(whole, limit=_PART_BYTES, new_id=lab.chance.draws("parts", str(parts)).uuid4)
            ids = tuple(peek(part).message_id or "" for part in cut)
            sent = SentSequence(ids, body_digest(whole), lab.now)
            lab.note(lambda history, sent=sent: history.sequences.append(sent))  # type: ignore[misc]
            # The last part comes first, since parts lie on different shards anyway.
            lab.put(reversed(cut))
        self._attempt.wait(lambda: all(self._is_done(each.message_ids) for each in lab.history.sequences))

    def _is_done(self, parts: Iterable[str]) -> bool:
        """Whether the client has been given all parts of a sequence, and has told of one of them."""
        history = self._lab.history
        given = {each.message_id for read in history.reads() for each in read.records}
        return given.issuperset(parts) and not history.times_told().keys().isdisjoint(parts)

    def bad_messages(self, stage: Stage) -> None:
        for code in BAD_CODES:
            self._send_bad(self._samples.bad(code), code)
            self.send(max(1, stage.messages // len(BAD_CODES)))
        self._wait_for_rejects()

    def expired_messages(self, stage: Stage) -> None:
        for _ in range(stage.messages):
            self._send_bad(self._samples.bad(ErrorCode.GENERR003), ErrorCode.GENERR003)
        self.send(1)
        self._wait_for_rejects()

    def older_versions(self, stage: Stage) -> None:
        lab = self._lab
        for number in range(stage.messages):
            version = UPGRADED_RELEASES[number % len(UPGRADED_RELEASES)]
            data = serialise(older_sample(self._samples, version))
            sent = SentOlder(peek(data).message_id or "", version, lab.now)
            lab.note(lambda history, sent=sent: history.older.append(sent))  # type: ignore[misc]
            self._expected.add(sent.message_id)
            lab.put([data])

    def its_own_messages(self, stage: Stage) -> None:
        """Put what the client published on its input, as a router does, and good messages behind it."""
        lab = self._lab
        for _ in range(stage.messages // 2):
            self._send_bad(self._samples.bad(ErrorCode.GENERR001), ErrorCode.GENERR001)
        self.send(stage.messages // 2)
        self._wait_for_rejects()
        self._settle()
        published = [(stream, data) for stream in (OUTPUT, ERROR, INVALID) for data in lab.written(stream)]
        for stream, data in published:
            if message_id := peek(data).message_id:
                echo = Returned(message_id, stream, lab.now)
                lab.note(lambda history, echo=echo: history.returned.append(echo))  # type: ignore[misc]
                lab.put([data])
        for shard in lab.open_shards():
            self.send_to(shard, 1)

    def _send_bad(self, data: bytes, code: ErrorCode) -> None:
        lab = self._lab
        sent = SentBad(peek(data).message_id or "", code.value, code.queue.value, lab.now)
        lab.note(lambda history: history.bad.append(sent))
        lab.put([data])

    def _wait_for_rejects(self) -> None:
        """Wait until each bad message is in a queue, or was told by mistake, or nothing comes any more."""
        lab = self._lab
        wanted = {each.message_id for each in lab.history.bad}

        def settled() -> bool:
            queued = {peek(data).message_id for stream in (ERROR, INVALID) for data in lab.written(stream)}
            return wanted <= queued | lab.history.times_told().keys()

        self._attempt.wait(settled)
