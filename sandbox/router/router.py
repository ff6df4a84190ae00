"""Routing at least once: a message is recorded for its targets in one transaction with the checkpoint."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from emulator.channels import Channel, ChannelUnavailableError, Delivery
from emulator.clock import Clock
from sandbox.gateway import Gateway, Machine
from sandbox.receiver import Rejects
from sandbox.repository import Repository
from sandbox.router.routes import Routes
from schemas.rdss.contract import RDSS
from schemas.rdss.envelope import oversize
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.peek import peek

_AT_ONCE: Final = 200
_parts_of: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_object_of: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Router:
    """Reads the sources of its routes and publishes to their targets.

    ``sources`` are channels that are read from the repository's checkpoints; ``gateways`` lead to the
    targets. Duplicates are routed too, since receivers drop them. A message without a known tenant is
    rejected; all other validation is left to the receivers.
    """

    def __init__(
        self,
        routes: Routes,
        sources: Mapping[str, Channel],
        gateways: Mapping[str, Gateway],
        rejects: Rejects,
        *,
        repository: Repository,
        clock: Clock,
        machine: Machine,
        checkpoint_names: Mapping[str, str] | None = None,
    ) -> None:
        self._routes = routes
        self._sources = sources
        self._gateways = gateways
        self._rejects = rejects
        self._repository = repository
        self._clock = clock
        self._machine = machine
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
        tenant = peek(delivery.data).tenant
        if tenant is not None and tenant in self._routes.tenants:
            data = self._with_history(delivery.data)
            for target in self._routes.targets(source, tenant):
                self._gateways[target].keep([data])
        else:
            self._reject(delivery.data, tenant)
        name = self._checkpoint_names.get(source, source)
        self._repository.save_checkpoint(name, delivery.shard, delivery.sequence_number)

    def _reject(self, data: bytes, tenant: int | None) -> None:
        verdict = RDSS.judge(data, now=self._clock.time())
        if verdict.code is not None and tenant is None:
            self._rejects.keep(data, verdict.code, verdict.why)
            return
        known = ", ".join(map(str, self._routes.tenants))
        why = f"tenantJiscID {tenant} is no institution here; they are {known}"
        self._rejects.keep(data, ErrorCode.GENERR004, why)

    def _with_history(self, data: bytes) -> bytes:
        """Add the router's entry at the end of messageHistory, unless that makes the message oversize.

        Nothing else changes; the body stays byte for byte.
        """
        entry = self._machine.entry(self._clock.time())
        try:
            parts = _parts_of(data)
            header = _object_of(parts["messageHeader"])
            header["messageHistory"] = [*header.get("messageHistory", ()), entry]
        except (msgspec.MsgspecError, KeyError, TypeError, UnicodeDecodeError):
            return data
        longer = msgspec.json.encode({**parts, "messageHeader": msgspec.Raw(msgspec.json.encode(header))})
        return data if oversize(longer) else longer

    def _flush(self) -> None:
        for gateway in self._gateways.values():
            gateway.flush()
        self._rejects.flush()
