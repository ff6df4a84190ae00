"""The client under test: what sends and what receives. Ours is the gateway and the receiver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from sandbox.gateway import Gateway
from sandbox.receiver.assembly import assembled_receiver
from sandbox.repository import Repository
from sandbox.scenarios.client_environment import ClientEnvironment
from sandbox.scenarios.scenario import INPUT
from schemas.sequence import split_raw


class Sender(Protocol):
    """A process that sends. What it raises is told, and it is asked again until it raises no more."""

    def send(self, messages: Sequence[bytes]) -> None:
        """Send these, and what it could not send before; returns when it has done what it wants to do."""

    def close(self) -> None: ...


class Receiver(Protocol):
    """A process that receives. What it raises ends it, and it is started again."""

    def receive(self, limit: int, wait: float) -> int:
        """Take at most ``limit`` messages after at most ``wait`` seconds to their end; how many came."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Client:
    """How the two processes of a client are started, also anew where an earlier one left off."""

    sender: Callable[[ClientEnvironment], Sender]
    receiver: Callable[[ClientEnvironment], Receiver]


class OurSender:
    """Splits what is too large, and sends it all by the gateway."""

    def __init__(self, site: ClientEnvironment) -> None:
        self._site = site
        self._repository = Repository(site.folder / "sender.sqlite3", site.clock)
        self._gateway = Gateway(site.open(INPUT), self._repository, site.clock)

    def send(self, messages: Sequence[bytes]) -> None:
        parts = [part for data in messages for part in split_raw(data, new_id=self._site.new_id)]
        self._gateway.send_serialised(*parts)

    def close(self) -> None:
        self._gateway.channel.close()
        self._repository.close()


class OurReceiver:
    """The receiver over the site's channels, with its repository or another one on the same file."""

    def __init__(self, site: ClientEnvironment, repository: Repository | None = None) -> None:
        with ExitStack() as stack:
            repository = repository or Repository(site.receiver_store, site.clock)
            stack.callback(repository.close)
            self._receiver = stack.enter_context(
                assembled_receiver(
                    site.open,
                    site.originals,
                    stream=INPUT,
                    repository=repository,
                    application=site.process,
                    clock=site.clock,
                )
            )
            self._stack = stack.pop_all()

    def receive(self, limit: int, wait: float) -> int:
        return self._receiver.step(limit=limit, wait=wait)

    def close(self) -> None:
        self._stack.close()


OURS = Client(OurSender, OurReceiver)
