"""The routing table: the target streams of each source stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from emulator.settings.topologies import (
    ENVIRONMENT,
    INSTITUTIONS,
    SERVICES,
    institution_input,
    institution_output,
    message_stream,
    service_input,
    service_output,
)
from schemas.bound import CONTRACT
from schemas.contract import list_queues


@dataclass(frozen=True, slots=True)
class RoutingTable:
    """A routing table.

    ``services`` has the targets of each source for every tenant. ``tenants`` has the stream of each
    institution by its JiscID; a message from a source in ``to_tenant`` also goes to its own tenant's stream.
    ``queues`` are for messages that cannot be routed.
    """

    services: Mapping[str, tuple[str, ...]]
    tenants: Mapping[int, str]
    to_tenant: frozenset[str]
    queues: Mapping[str, str]

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(self.services)

    def targets(self, source: str, tenant: int) -> tuple[str, ...]:
        """The targets of a tenant's message from a source. Raises KeyError for an unknown tenant."""
        own = self.tenants[tenant]
        return (*self.services[source], own) if source in self.to_tenant else self.services[source]


def rdss_routes(environment: str = ENVIRONMENT) -> RoutingTable:
    """The routes of the deployed topology in ``emulator.settings.topologies``.

    A message of an institution goes to all groups of services. A message of a group goes to the other groups
    and to the institution whose JiscID is the message's tenant.
    """
    outputs = {group: service_output(group, environment) for group in SERVICES}
    services = {institution_input(each, environment): tuple(outputs.values()) for each in INSTITUTIONS}
    groups = {
        service_input(group, environment): tuple(outputs[other] for other in SERVICES if other != group)
        for group in SERVICES
    }
    return RoutingTable(
        services={**services, **groups},
        tenants={each: institution_output(each, environment) for each in INSTITUTIONS},
        to_tenant=frozenset(groups),
        queues={queue: message_stream(queue, environment) for queue in list_queues(CONTRACT)},
    )


RDSS_ROUTES: Final = rdss_routes()
