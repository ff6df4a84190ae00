"""The client under test: a sending and a receiving process. The sandbox's own are gateway and receiver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from sandbox.gateway import Gateway
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.receiver.receiving_application import Application
from sandbox.repository import ArrivalStatus, Outcome, Repository
from sandbox.scenarios.client_environment import ClientEnvironment
from sandbox.scenarios.scenario import INPUT, OWN_MESSAGE, UNREACHABLE
from sandbox.scenarios.workload import identity
from schemas.bound import CONTRACT


class Sender(Protocol):
    """A sending process. An exception is recorded, and ``send`` is called again until it succeeds."""

    def send(self, messages: Sequence[bytes]) -> None:
        """Send these messages, and those that it could not send before."""

    def close(self) -> None: ...


class ReceivingProcess(Protocol):
    """A receiving process. An exception ends it, and it is started again."""

    def receive(self, limit: int, wait: float) -> int:
        """Process at most ``limit`` messages, waiting at most ``wait`` seconds, and return their number."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Client:
    """Functions that start the two processes of a client, the first time and after a crash."""

    sender: Callable[[ClientEnvironment], Sender]
    receiver: Callable[[ClientEnvironment], ReceivingProcess]


class OurSender:
    """Sends by the gateway and splits oversize messages."""

    def __init__(self, environment: ClientEnvironment) -> None:
        self._environment = environment
        self._repository = Repository(environment.folder / "sender.sqlite3", environment.clock)
        self._gateway = Gateway(environment.open(INPUT), self._repository, environment.clock)

    def send(self, messages: Sequence[bytes]) -> None:
        sequences, environment = CONTRACT.sequences, self._environment
        parts: list[bytes] = []
        for data in messages:
            failure = environment.failing.get(identity(data), "")
            if failure in {OWN_MESSAGE, UNREACHABLE}:
                from sandbox.scenarios.rdss_failures import send_failing

                send_failing(environment, data, failure)
            else:
                parts += sequences.split(data, new_id=environment.new_id) if sequences else [data]
        self._gateway.send_serialised(*parts)

    def close(self) -> None:
        self._gateway.channel.close()
        self._repository.close()


class OurReceiver:
    """The receiver over the environment's channels, with its repository or a given one on the same file."""

    def __init__(self, environment: ClientEnvironment, repository: Repository | None = None) -> None:
        self._emit = environment.events.emit
        with ExitStack() as stack:
            self._repository = repository = repository or Repository(
                environment.receiver_store, environment.clock
            )
            stack.callback(repository.close)
            process: Application = environment.process
            if environment.failing:
                from sandbox.scenarios.rdss_failures import failing_applications

                process = stack.enter_context(failing_applications(environment, repository))
            self._receiver = stack.enter_context(
                assembled_receiver(
                    environment.open,
                    environment.originals,
                    stream=INPUT,
                    repository=repository,
                    application=process,
                    clock=environment.clock,
                )
            )
            self._stack = stack.pop_all()

    def receive(self, limit: int, wait: float) -> int:
        return self._receiver.step(limit=limit, wait=wait)

    def close(self) -> None:
        tally = self._repository.tally(INPUT).items()
        self._emit(
            "receiver.ended",
            dropped=self._repository.counted(ArrivalStatus.DUPLICATE),
            echoes=self._repository.counted(ArrivalStatus.ECHO),
            waiting=sum(count for (_, outcome, _), count in tally if outcome is Outcome.WAITING),
        )
        self._stack.close()


OURS = Client(OurSender, OurReceiver)
