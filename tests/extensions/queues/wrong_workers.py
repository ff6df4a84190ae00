"""Workers that claim from a queue and do it wrong, each in one way, as people do."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from emulator.channels.channel import Delivery
from extensions.queues.scenario_workers import Worker, Workers
from sandbox.repository import ArrivalStatus, Repository
from sandbox.scenarios.client_environment import ClientEnvironment, KillableProcess
from sandbox.scenarios.scenario_client import OURS, Client
from tests.sandbox.scenarios.wrong_clients import Forgetful


def _workers(worker: Callable[[ClientEnvironment, KillableProcess], Worker]) -> Client:
    """Workers of which each is made in another way."""

    class Others(Workers):
        def worker(self, site: ClientEnvironment, victim: KillableProcess) -> Worker:
            return worker(site, victim)

    return Client(OURS.sender, Others)


class _NeverLooks(Worker):
    """Works on what it once claimed, whoever holds it now."""

    def __init__(self, site: ClientEnvironment, victim: KillableProcess) -> None:
        super().__init__(site, victim, Forgetful(site.receiver_store, site.clock))

    def work(self, delivery: Delivery) -> None:
        self.receiver.receive(delivery)


class _OwnMemory(Repository):
    """Knows the messages that this process has done, and no others."""

    def __init__(self, site: ClientEnvironment) -> None:
        super().__init__(site.receiver_store, site.clock)
        self._done: set[str | None] = set()

    def arrival_status(
        self, channel: str, message_id: str | None, digest: bytes, part: tuple[str, int] | None = None
    ) -> ArrivalStatus:
        if message_id in self._done:
            return super().arrival_status(channel, message_id, digest, part)
        self._done.add(message_id)
        return ArrivalStatus.NEW


def _for_twelve_hours(site: ClientEnvironment, victim: KillableProcess) -> Worker:
    assert site.claims is not None
    site.claims = msgspec.structs.replace(site.claims, ttl="12h")
    return Worker(site, victim, Repository(site.receiver_store, site.clock))


MISTAKES = {
    "works on what it no longer holds": ("claim-expires", _workers(_NeverLooks), "twice"),
    "remembers only what it did itself": (
        "double-delivery",
        _workers(lambda site, victim: Worker(site, victim, _OwnMemory(site))),
        "twice",
    ),
    "claims for half a day": ("late-release", _workers(_for_twelve_hours), "lost"),
}
"""As in ``tests.sandbox.scenarios.test_library``."""
