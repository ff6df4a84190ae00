"""Which stream's messages go where: a table."""

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
from schemas.error_codes import Queue


@dataclass(frozen=True, slots=True)
class Routes:
    """``services`` are the targets of each source whoever the tenant is.

    ``tenants`` are the streams of those institutions that can be a tenant, by JiscID; a source in
    ``to_tenant`` goes to the one of the message's own. ``queues`` take what cannot be routed.
    """

    services: Mapping[str, tuple[str, ...]]
    tenants: Mapping[int, str]
    to_tenant: frozenset[str]
    queues: Mapping[Queue, str]

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(self.services)

    def targets(self, source: str, tenant: int) -> tuple[str, ...]:
        """Where a message of that tenant goes from a source. Raises KeyError for an unknown tenant."""
        own = self.tenants[tenant]
        return (*self.services[source], own) if source in self.to_tenant else self.services[source]


def rdss_routes(environment: str = ENVIRONMENT) -> Routes:
    """The routes of ``emulator.settings.topologies``.

    What an institution sends goes to all groups of services; what a group sends goes to the institution
    whose JiscID is the message's tenantJiscID, and to the other groups.
    """
    outputs = {group: service_output(group, environment) for group in SERVICES}
    services = {institution_input(each, environment): tuple(outputs.values()) for each in INSTITUTIONS}
    groups = {
        service_input(group, environment): tuple(outputs[other] for other in SERVICES if other != group)
        for group in SERVICES
    }
    return Routes(
        services={**services, **groups},
        tenants={each: institution_output(each, environment) for each in INSTITUTIONS},
        to_tenant=frozenset(groups),
        queues={queue: message_stream(queue, environment) for queue in Queue},
    )


RDSS_ROUTES: Final = rdss_routes()
