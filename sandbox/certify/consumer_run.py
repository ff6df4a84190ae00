"""A run of a consumer: its stages, one function each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from typing import Final

from emulator.clock import Clock
from emulator.diagnosis.leases import has_tables
from rdss_sandbox.shapes.trace import Read, TraceItem
from sandbox.certify.attempt import Attempt, ClientGivesUpError
from sandbox.certify.history import OfferedMessage, Returned, SentBad, SentOlder, SentSequence
from sandbox.certify.kill_moments import measure_pace, spread
from sandbox.certify.kit_messages import KitMessages
from sandbox.certify.lab import ERROR, INVALID, OUTPUT, Lab
from sandbox.certify.stages import Stage
from schemas.contract import Code, Sample

_SENT_AGAIN: Final = 3
_THIRD: Final = 3
_OUTLASTING: Final = 6
"""Refusals in a row. The SDKs try three to five times before they leave a failure to their caller.

More would keep those that double their pauses away for longer than the patience.
"""
_SHORT_ANSWER: Final = 2
_FOR_EACH_KILL: Final = 10
_AT_ONCE: Final = 5
_MANY_AT_ONCE: Final = 100
_PART_BYTES: Final = 20_000


class ConsumerRun:
    """Plays the stages against a consumer."""

    def __init__(self, attempt: Attempt, lab: Lab) -> None:
        self._attempt = attempt
        self._lab = lab
        self._messages = KitMessages(lab.contract, lab.seed, lab.recorded)
        self._given_up: set[str] = set()
        self._not_delivered: set[tuple[str, str]] = set()
        self._expected: dict[str, Sample] = {}
        self._plays: dict[str, Callable[[Stage], None]] = {
            "quiet": self.quiet,
            "duplicates": self.duplicates,
            "delays": self.delays,
            "restart": self.restart,
            "distant duplicates": self.distant_duplicates,
            "throttling": self.throttling,
            "errors": self.errors,
            "expired iterators": self.expired_iterators,
            "split": self.split,
            "merge": self.merge,
            "killed with records in hand": self.killed_with_records_in_hand,
            "killed after telling": self.killed_after_telling,
            "killed while idle": self.killed_while_idle,
            "sequences": self.sequences,
            "bad messages": self.bad_messages,
            "expired messages": self.expired_messages,
            "older versions": self.older_versions,
            "its own messages": self.its_own_messages,
        }
        attempt.waits_for_leases = self._waits_for_leases

    def play(self, stages: Sequence[Stage], progress: Callable[[str], None]) -> None:
        """Play the stages. Raises ``ClientNotStartedError``."""
        attempt = self._attempt
        attempt.enter(stages[0])
        attempt.start()
        try:
            reads = self._wait_until_reading()
            for stage in stages:
                progress(stage.name)
                self._messages.begin(stage.name)
                attempt.enter(stage)
                try:
                    self._plays[stage.name](stage)
                    settled = self._settle()
                except ClientGivesUpError:
                    # Who ends at poison may do the rest, once that is taken away.
                    if settled := not self._lab.keeps_poison():
                        raise
                self._lab.end_faults()
                attempt.wait_for_rest()
                attempt.leave()
                # Of a client that reads or tells nothing the first stage tells as much as all of them.
                if not reads or attempt.worn_out or self._lab.history.tells_nothing() or stage is stages[-1]:
                    return
                if self._lab.keeps_poison() or not (settled or self._lab.history.ends[-1].impatient):
                    attempt.replace()
                    self._wait_for_a_read()
        except ClientGivesUpError:
            attempt.leave()
        finally:
            self._lab.end_faults()
            attempt.end()

    # Sending

    def send(self, count: int, *, twice: int = 0, fault: str = "", **attributes: object) -> list[str]:
        """Send valid messages, the first ``twice`` of them two times; return their ids.

        A ``fault`` with these attributes strikes the first delivery of every third: which ones does not
        depend on the order in which the client reads its shards.
        """
        messages = [self._messages.good() for _ in range(count)]
        ids = self._expect(messages)
        for message_id in ids[::_THIRD] if fault else ():
            self._lab.strike_message(fault, message_id, "deliver", 1, attributes)
        self._put([*messages, *messages[:twice]])
        return ids

    def send_to(self, shard: str, count: int) -> list[str]:
        """Send valid messages whose ids all lie on one shard; return their ids."""
        found: list[Sample] = []
        while len(found) < count:
            message = self._messages.good()
            if self._lab.shard_of(message.key) == shard:
                found.append(message)
        ids = self._expect(found)
        self._put(found)
        return ids

    def send_again(self, ids: Iterable[str]) -> None:
        """Send messages once more that were told already, byte for byte, as after a failure."""
        times = self._lab.history.times_told()
        self._put([self._expected[each] for each in ids if each in times])

    def _put(self, messages: Sequence[Sample]) -> None:
        # In several calls, so that a consumer sees more than one batch.
        size = max(_AT_ONCE, min(_MANY_AT_ONCE, len(messages) // _AT_ONCE))
        for start in range(0, len(messages), size):
            self._lab.put(messages[start : start + size])

    def _expect(self, messages: Iterable[Sample]) -> list[str]:
        lab = self._lab
        ids = []
        for message in messages:
            message_id = lab.identify(*message) or ""
            lab.add(
                lab.history.sent,
                OfferedMessage(message_id, self._messages.digest(message), lab.level, lab.now),
            )
            ids.append(message_id)
            self._expected[message_id] = message
        return ids

    # Waiting

    def _wait_until_reading(self) -> bool:
        """Wait until the client has read each shard, since what is sent before is not for one at LATEST.

        Returns False when it reads nothing.
        """
        attempt, shards = self._attempt, set(self._lab.open_shards())
        return attempt.wait(lambda: shards <= self._read_shards()) or bool(self._read_shards())

    def _wait_for_a_read(self) -> None:
        """Wait until the client that was started last reads, or has subscribed."""
        life, history = self._lab.life, self._lab.history
        self._attempt.wait(
            lambda: (
                any(each.life >= life for each in history.reads())
                or any(each.life >= life for each in history.subscriptions())
            )
        )

    def _read_shards(self) -> set[str]:
        return {each.shard for each in self._lab.history.reads() if not each.error}

    def _waits_for_leases(self) -> bool:
        """Whether what is missing lies on shards that the client, which keeps leases, has not read yet."""
        lab = self._lab
        if not has_tables():
            return False
        shards = {shard for shard, _ in lab.undelivered() - self._not_delivered}
        shards |= {lab.place_of.get(each, "") for each in self._missing()} or set(lab.open_shards())
        read = {each.shard for each in lab.history.reads() if each.life == lab.life and not each.error}
        return not shards <= read

    def _settle(self) -> bool:
        """Wait until every record is delivered and every message told; return False for a silent client.

        What is missing then is not waited for again.
        """
        lab = self._lab
        if self._attempt.wait(lambda: not self._missing() and lab.undelivered() <= self._not_delivered):
            return True
        self._given_up |= self._missing()
        self._not_delivered |= lab.undelivered()
        return False

    def _missing(self) -> set[str]:
        return self._expected.keys() - self._given_up - self._lab.history.times_told().keys()

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
        with self._ended():
            self.send(third)
        self.send(third)

    def distant_duplicates(self, stage: Stage) -> None:
        """Send messages again with a thousand others between, and again after a restart."""
        ids = self.send(stage.messages)
        self._settle()
        self.send_again(ids[:_SENT_AGAIN])
        with self._ended():
            self.send_again([*ids[_SENT_AGAIN : 2 * _SENT_AGAIN], *ids[-_SENT_AGAIN:]])
        self.send(1)

    @contextmanager
    def _ended(self) -> Iterator[None]:
        """End the client with SIGTERM, and start it again behind what is done meanwhile.

        It has nothing in hand then, so that it does not depend on the machine what the signal meets.
        """
        self._settle()
        self._attempt.wait_for_rest()
        self._attempt.end()
        yield
        self._attempt.start()

    def throttling(self, stage: Stage) -> None:
        self._strike_reads("throttle", stage, fails=_OUTLASTING)

    def errors(self, stage: Stage) -> None:
        self.send(1, fault="disconnect")
        self._strike_reads("error", stage, fails=_OUTLASTING)

    def expired_iterators(self, stage: Stage) -> None:
        self._strike_reads("expire_iterator", stage, fails=1)

    def _strike_reads(self, fault: str, stage: Stage, *, fails: int) -> None:
        """Let reads fail, each at a message of its own: first once, and then ``fails`` times in a row.

        Behind each of these messages there are others, so that who leaves its place loses something.
        """
        with self._lab.holding(self._lab.open_shards()[:1]):
            self.send(stage.messages // 2, fault=fault)
        self._attempt.wait(lambda: not self._missing())
        shards = self._lab.open_shards()
        with self._lab.holding(shards[:1]):
            for shard in shards:
                first, *_ = self.send_to(shard, max(2, stage.messages // 2 // len(shards)))
                self._lab.strike_message(fault, first, "deliver", fails, {})

    def split(self, stage: Stage) -> None:
        shard = self._lab.open_shards()[0]
        with self._lab.shortening([shard], _SHORT_ANSWER):
            with self._lab.holding([shard]):
                self._leave_unread(shard, stage.messages)
                self._lab.split(shard)
                for child in self._lab.open_shards()[-2:]:
                    self.send_to(child, stage.messages // 4)
                self._send_again_from(shard)
            self._settle()

    def merge(self, stage: Stage) -> None:
        pair = self._lab.neighbours()
        with self._lab.shortening(pair, _SHORT_ANSWER):
            with self._lab.holding(pair):
                # Who waits for one of the parents alone waits for the first, which is at its end sooner.
                self._leave_unread(pair[0], _SHORT_ANSWER)
                self._leave_unread(pair[1], stage.messages)
                self._lab.merge(pair)
                self.send_to(self._lab.open_shards()[-1], stage.messages // 2)
                self._send_again_from(pair[0])
            self._settle()

    def _leave_unread(self, shard: str, count: int) -> None:
        """Put a backlog on a shard that takes several reads, with one that finds nothing between them."""
        ids = self.send_to(shard, count)
        self._lab.strike_message("stale_read", ids[count // 2], "deliver", 1, {})

    def _send_again_from(self, shard: str) -> None:
        """Send some messages again that lay on a shard, which now come on its children."""
        before = [each for each, place in self._lab.place_of.items() if place == shard]
        self.send_again([each for each in before if each in self._expected][:_SENT_AGAIN])

    def killed_with_records_in_hand(self, stage: Stage) -> None:
        """Kill the client at moments that are spread over its work on an answer."""
        parts = spread(self._lab.chance.draws("in hand"), max(1, stage.messages // _FOR_EACH_KILL))
        for part in parts:
            given: list[str] = []

            def watch(exchange: TraceItem, given: list[str] = given) -> None:
                if isinstance(exchange, Read):
                    given.extend(each.message_id or "" for each in exchange.records)

            with self._lab.watching(watch):
                ids = set(self.send(stage.messages // len(parts)))
                if not self._attempt.wait(lambda: not ids.isdisjoint(given)):  # noqa: B023 -- of this turn
                    return
            self._kill_in(part * measure_pace(self._lab.history).work(len(given)))

    def killed_after_telling(self, stage: Stage) -> None:
        """Kill the client as it tells of a message, and at moments between this telling and the next."""
        parts = spread(self._lab.chance.draws("telling"), max(1, stage.messages // _FOR_EACH_KILL))
        for part in parts:
            ids = set(self.send(stage.messages // len(parts)))
            first = 1 + int(part * len(ids) / 2)
            times = self._lab.history.times_told
            if not self._attempt.wait(lambda: len(ids & times().keys()) >= first):  # noqa: B023 -- of this turn
                return
            self._kill_in(part * measure_pace(self._lab.history).each)

    def _kill_in(self, seconds: float) -> None:
        Clock().wait(seconds)
        self._attempt.kill()
        self._attempt.start()

    def killed_while_idle(self, stage: Stage) -> None:
        ids = self.send(stage.messages // 2)
        self._settle()
        self._attempt.wait_for_rest()
        self._attempt.kill()
        self.send(stage.messages // 2)
        self.send_again(ids[:_SENT_AGAIN])
        self._attempt.start()

    def sequences(self, stage: Stage) -> None:
        """Send parts of sequences before a restart and behind it, so that they have to be kept meanwhile."""
        lab, sequences = self._lab, []
        for parts in range(2, 2 + stage.messages):
            whole = self._messages.maker.big_message(parts, limit=_PART_BYTES)
            cut = self._messages.split(whole, _PART_BYTES, lab.chance.draws("parts", str(parts)).uuid4)
            ids = tuple(part.key for part in cut)
            lab.add(lab.history.sequences, SentSequence(ids, self._messages.digest(whole), lab.now))
            # The last part comes first, since parts lie on different shards anyway.
            sequences.append([*reversed(cut)])
        lab.put(each[0] for each in sequences)
        with self._ended():
            lab.put(part for each in sequences for part in each[1:])
        self._attempt.wait(lambda: all(self._is_done(each.message_ids) for each in lab.history.sequences))

    def _is_done(self, parts: Iterable[str]) -> bool:
        """Whether the client has been given all parts of a sequence, and has told of one of them."""
        history = self._lab.history
        given = {each.message_id for read in history.reads() for each in read.records}
        return given.issuperset(parts) and not history.times_told().keys().isdisjoint(parts)

    def bad_messages(self, stage: Stage) -> None:
        rejects = True
        codes = self._messages.codes
        for code in islice(cycle(codes), max(stage.messages, len(codes))):
            self._send_bad(self._messages.bad(code), code)
            self.send(1)
            # One after the other, so that a client that ends at one of them is seen to.
            rejects = rejects and self._wait_for_rejects()

    def expired_messages(self, stage: Stage) -> None:
        for _ in range(stage.messages):
            self._send_bad(*self._messages.expired())
        self.send(1)
        self._wait_for_rejects()

    def older_versions(self, stage: Stage) -> None:
        lab, releases = self._lab, self._messages.releases
        for number in range(stage.messages):
            version = releases[number % len(releases)]
            message = self._messages.maker.older(version)
            sent = SentOlder(message.key, version, lab.now)
            lab.add(lab.history.older, sent)
            self._expected[sent.message_id] = message
            lab.put([message])

    def its_own_messages(self, stage: Stage) -> None:
        """Put what the client published on its input, as a router does, and good messages behind it."""
        lab, code = self._lab, self._messages.codes[0]
        for _ in range(stage.messages // 2):
            self._send_bad(self._messages.bad(code), code)
        self.send(stage.messages // 2)
        self._wait_for_rejects()
        self._settle()
        published = [(stream, each) for stream in (OUTPUT, ERROR, INVALID) for each in lab.written(stream)]
        for stream, each in published:
            if message_id := lab.contract.peek(*each).message_id:
                lab.add(lab.history.returned, Returned(message_id, stream, lab.now))
                lab.put([Sample(each.data, message_id)])
        for shard in lab.open_shards():
            self.send_to(shard, 1)

    def _send_bad(self, message: Sample, code: Code) -> None:
        lab = self._lab
        # A channel that a document declares for what is refused has no stream of its own here.
        queue = str(code.queue) if code.queue in (ERROR, INVALID) else ERROR
        lab.add(lab.history.bad, SentBad(message.key, str(code), queue, lab.now))
        lab.put([message])

    def _wait_for_rejects(self) -> bool:
        """Wait until each bad message is in a queue, or was told by mistake; False for a silent client."""
        lab = self._lab
        ids = {each.message_id for each in lab.history.bad}

        def settled() -> bool:
            queued = {lab.identify(*each) for stream in (ERROR, INVALID) for each in lab.written(stream)}
            return ids <= queued | lab.history.times_told().keys()

        return self._attempt.wait(settled)
