"""Routing at least once: a message is recorded for its targets in one transaction with the checkpoint."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Final

from emulator.channels.channel import Channel, ChannelUnavailableError, Delivery
from emulator.clock import Clock
from sandbox.gateway import Gateway, Machine
from sandbox.receiver import Rejects
from sandbox.repository import Repository
from sandbox.router.routing_table import RoutingTable
from schemas.bound import CONTRACT
from schemas.contract import Contract

_AT_ONCE: Final = 200
TENANT: Final = "tenant"
"""The field of a contract by which messages are routed."""


class Router:
    """Reads the sources of its routes and publishes to their targets.

    ``sources`` are channels that are read from the repository's checkpoints; ``gateways`` lead to the
    targets. Duplicates are routed too, since receivers drop them. A message without a known tenant is
    rejected; all other validation is left to the receivers.
    """

    def __init__(
        self,
        routes: RoutingTable,
        sources: Mapping[str, Channel],
        gateways: Mapping[str, Gateway],
        rejects: Rejects,
        *,
        repository: Repository,
        clock: Clock,
        machine: Machine,
        contract: Contract = CONTRACT,
        checkpoint_names: Mapping[str, str] | None = None,
    ) -> None:
        self._routes = routes
        self._sources = sources
        self._gateways = gateways
        self._rejects = rejects
        self._repository = repository
        self._clock = clock
        self._machine = machine
        self._contract = contract
        self._field = next(field for field in contract.fields if field.name == TENANT)
        self._checkpoint_names = checkpoint_names or {}

    def run_once(self) -> int:
        """Route at most a batch of each source and return the number of messages.

        Raises as ``Gateway.flush``; messages that were already read are sent by the next call.
        """
        self._flush()
        routed = 0
        for name, channel in self._sources.items():
            with contextlib.suppress(
                ChannelUnavailableError
            ):  # a stream that was deleted has nothing to route
                routed += self._route_all(name, channel, channel.read(limit=_AT_ONCE))
        return routed

    def _route_all(self, source: str, channel: Channel, deliveries: list[Delivery]) -> int:
        if deliveries:
            with self._repository.transaction():
                for delivery in deliveries:
                    self._route(source, delivery)
            self._flush()
        for delivery in deliveries:
            channel.commit(delivery)
        return len(deliveries)

    def _route(self, source: str, delivery: Delivery) -> None:
        peek = self._contract.peek(delivery.data, delivery.key)
        tenant: int | None = getattr(peek, self._field.attribute)
        if tenant is not None and tenant in self._routes.tenants:
            data = self._with_history(delivery.data)
            for target in self._routes.targets(source, tenant):
                self._gateways[target].keep([data])
        else:
            self._reject(delivery.data, tenant)
        name = self._checkpoint_names.get(source, source)
        self._repository.save_checkpoint(name, delivery.shard, delivery.sequence_number)

    def _reject(self, data: bytes, tenant: int | None) -> None:
        verdict = self._contract.judge(data, now=self._clock.time())
        if verdict.code is not None and tenant is None:
            self._rejects.keep(data, verdict.code, verdict.why)
            return
        known = ", ".join(map(str, self._routes.tenants))
        why = f"{self._field.spelling} {tenant} is no institution here; they are {known}"
        self._rejects.keep(data, self._contract.failures.misaddressed, why)

    def _with_history(self, data: bytes) -> bytes:
        """Add the router to the machines that the message has passed, unless that makes it oversize."""
        if self._contract.stamp is None:
            return data
        longer = self._contract.stamp(data, self._machine.id, self._machine.address, now=self._clock.time())
        return data if len(longer) > self._contract.max_bytes else longer

    def _flush(self) -> None:
        for gateway in self._gateways.values():
            gateway.flush()
        self._rejects.flush()
