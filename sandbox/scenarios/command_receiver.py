"""The receiving process of a run against a command: it is waited for, killed, and written down as events."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from rdss_sandbox.shapes.trace import Read, TraceItem
from sandbox.certify.attempt import Attempt, ClientGivesUpError
from sandbox.certify.consumer_clauses.repeats import definite_repeats
from sandbox.certify.history import Life, Statement
from sandbox.scenarios.client_environment import ClientEnvironment, KillableProcess
from sandbox.scenarios.command_messages import CommandMessages
from sandbox.scenarios.scenario import INPUT
from sandbox.scenarios.workload import identity
from schemas.bound import CONTRACT

_GLANCES: Final = 8
_MOST_TIMES: Final = 20


@dataclass(slots=True)
class CommandProcess(KillableProcess):
    """The command's process as a target of the faults ``pause`` and ``kill``."""

    name: str = "receiver"
    attempt: Attempt | None = None

    def pause(self) -> None:
        self.paused = True
        if self.attempt is not None:
            _pause_between_requests(self.attempt)

    def resume(self) -> None:
        self.paused = False
        if self.attempt is not None:
            self.attempt.resume()


class CommandReceiver:
    """Waits in each turn until the command has done all that it was given, or is silent (see ``Silence``).

    ``environment`` has the processes that faults kill, and gets the events. Of a command that is silent while
    something is missing only a glance is taken until everything is sent; then it is waited for once more.
    With ``slow`` the command is stopped until everything is sent. ``patience`` is in seconds.
    """

    def __init__(
        self,
        messages: CommandMessages,
        attempt: Attempt,
        environment: ClientEnvironment,
        patience: float,
        *,
        slow: bool,
    ) -> None:
        self._lab = attempt.lab
        self._messages = messages
        self._attempt = attempt
        self._environment = environment
        self._emit = environment.events.emit
        self._patience = patience
        self._slow = slow
        self._offered = 0
        self._behind = False
        self._all_sent = False
        self._over = False
        self._caught = self._late = False
        self._exchanges = self._statements = self._ends = 0
        self._delivered: Counter[tuple[str, str]] = Counter()
        self._processed: set[str] = set()

    def wait_until_reading(self) -> bool:
        """Wait until the command has read each shard, since what is sent before is not for one at LATEST.

        Returns False when it reads nothing.
        """
        shards, history = set(self._lab.open_shards()), self._lab.history
        try:
            self._attempt.wait(lambda: shards <= {each.shard for each in history.reads() if not each.error})
        except ClientGivesUpError:
            self._over = True
        return bool(history.reads()) and not self._over

    def expect(self, messages: int) -> None:
        """Begin: so many messages will be sent."""
        self._offered = messages
        if self._slow:
            _pause_between_requests(self._attempt)

    def receive(self, _limit: int, _wait: float) -> int:
        """Wait for the command; return how much is new of what it was given, and of what it told."""
        self._messages.scan()
        if not self._all_sent and len(self._messages.wholes()) >= self._offered:
            self._all_sent, self._behind = True, False
            if self._slow:
                self._attempt.resume()
        if not self._over and (self._all_sent or not self._slow):
            try:
                self._wait()
            except ClientGivesUpError:
                self._over = True
        return self._tell_news()

    def catch(self, item: TraceItem) -> None:
        """Stop a command that is to be killed with something in its hands as soon as it is given records.

        It is called before the answer goes out: later, a busy machine would find the work done.
        """
        is_given = isinstance(item, Read) and item.stream == INPUT and bool(item.records)
        environment = self._environment
        if is_given and (environment.before_work.killed or (environment.after_work.killed and self._late)):
            self._attempt.pause()
            self._caught = True

    def close(self) -> None:
        """End the command with SIGTERM, and write down what it did last."""
        self._attempt.resume()
        self._attempt.end()
        self._tell_news()

    # Waiting

    def _wait(self) -> None:
        """Wait until nothing is missing or the command is silent; kill it when a fault wants that."""
        while True:
            if self._behind:
                self._attempt.revive()
                self._lab.wait(self._patience / _GLANCES, self._can_go_on)
            else:
                self._behind = not self._attempt.wait(self._can_go_on)
            victim = self._victim()
            if victim is None:
                return
            if victim is self._environment.after_work and not self._caught and self._lets_go():
                self._late = True
                continue
            victim.killed = self._caught = self._late = False
            self._tell_news()
            self._attempt.kill()
            self._attempt.revive()

    def _can_go_on(self) -> bool:
        return self._is_done() or self._victim() is not None

    def _is_done(self) -> bool:
        """Whether the command was given every record, and has told of each message or rejected it."""
        lab, messages = self._lab, self._messages
        if lab.undelivered():
            return False
        statements = {messages.whole_of(each.message_id) for each in lab.history.told}
        return len(messages.wholes() - statements) <= messages.rejected()

    def _victim(self) -> KillableProcess | None:
        """The process that is to be killed, if its moment has come since the last turn."""
        environment, history = self._environment, self._lab.history
        if environment.receiver.killed:
            return environment.receiver
        if environment.before_work.killed and self._caught:
            return environment.before_work
        has_told = not self._late and len(history.told) > self._statements
        if environment.after_work.killed and (self._caught or has_told):
            return environment.after_work
        return None

    def _lets_go(self) -> bool:
        """Stop the command, and let it go on where it has done all that it was given.

        A busy machine may find it so behind its work: killed now, it would be given nothing again.
        """
        self._attempt.pause()
        self._lab.listen()
        reads = [each for each in self._lab.history.reads() if each.stream == INPUT]
        given = {each.message_id for read in reads for each in read.records}
        if given - {each.message_id for each in self._lab.history.told}:
            return False
        self._attempt.resume()
        return True

    # What is seen

    def _tell_news(self) -> int:
        """Emit the events of what happened since the last call; return how much of it is new."""
        history = self._lab.history
        exchanges, statements = history.exchanges[self._exchanges :], history.told[self._statements :]
        self._exchanges += len(exchanges)
        self._statements += len(statements)
        self._messages.scan()
        rows: list[Read | Statement] = [*statements, *(each for each in exchanges if isinstance(each, Read))]
        new = sum(self._tell(each) for each in sorted(rows, key=lambda row: row.at))
        return new + self._tell_ends()

    def _tell(self, row: Read | Statement) -> int:
        if isinstance(row, Statement):
            return self._tell_processed(row)
        if row.stream != INPUT:
            return 0
        if not row.records and not row.error:
            self._emit("receiver.read_empty", channel=INPUT)
        return sum(self._tell_delivered(row.shard, each.sequence_number) for each in row.records)

    def _tell_delivered(self, shard: str, number: str) -> int:
        data = self._messages.data[shard, number]
        self._delivered[shard, number] += 1
        # A command that reads the same again without end must not fill this process.
        if self._delivered[shard, number] <= _MOST_TIMES:
            place: dict[str, Any] = {"shard": shard, "sequence_number": number}
            if part := CONTRACT.peek(data).part:
                place |= {"sequence": part.sequence, "position": part.position}
            self._emit("message.delivered", channel=INPUT, message_id=identity(data), size=len(data), **place)
        return self._delivered[shard, number] == 1

    def _tell_processed(self, statement: Statement) -> int:
        messages, name = self._messages, self._messages.whole_of(statement.message_id)
        again = name in self._processed
        self._processed.add(name)
        if again and self._is_excused(statement):
            return 0
        fields: dict[str, Any] = {"parts": messages.parts_of(statement.message_id), "body": statement.digest}
        self._emit("message.processed", message_id=name, at=self._environment.clock.time(), **fields)
        return not again

    def _is_excused(self, statement: Statement) -> bool:
        """Whether this is the one repeat that a SIGKILL between telling and checkpoint excuses."""
        history = self._lab.history
        earlier = any(
            each.message_id == statement.message_id and each is not statement and each.at <= statement.at
            for each in history.told
        )
        return earlier and all(each.told is not statement for each in definite_repeats(history))

    def _tell_ends(self) -> int:
        """Emit the deaths of the command, and its new starts; return how many deaths there were."""
        lives, before = self._lab.history.lives, self._ends
        while self._ends < len(lives) and lives[self._ends].ended is not None:
            life = lives[self._ends]
            self._ends += 1
            if life.end == "SIGKILL":
                self._emit("receiver.crashed", target="receiver")
            elif life.end == "itself":
                self._emit("receiver.failed", why=": ".join((describe_end(life), *life.output[-1:]))[:300])
            if self._ends < len(lives):
                self._emit("receiver.started")
        return self._ends - before


def _pause_between_requests(attempt: Attempt) -> None:
    """Stop a command while a read of it waits to be answered.

    A request that is stopped half way would be refused after a while, which is not what a pause is about.
    """
    with attempt.lab.holding(attempt.lab.open_shards()):
        attempt.pause()


def describe_end(life: Life) -> str:
    """How a command ended by itself."""
    if life.code is not None and life.code < 0:
        return f"it was ended by signal {-life.code}, which the sandbox did not send"
    return f"it ended by itself with exit code {life.code}"
