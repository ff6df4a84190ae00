"""S3 in this process, in front of an upstream that answers the other services and would forget objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.assembly.own_services import OwnServices
from emulator.events import Events
from emulator.relay.aws.bucket_notifications import BucketNotifications

if TYPE_CHECKING:
    from emulator.listeners.aws.moto_services import MotoServices
    from emulator.listeners.aws.service_access import ServiceAccess


class OwnS3:
    """moto's S3 with its objects in the data directory; buckets notify the queues of ``upstream``."""

    def __init__(self, services: OwnServices, upstream: str, events: Events) -> None:
        self.services = services
        self._notifications = BucketNotifications(upstream, events)
        self._events = events

    def build(self, access: ServiceAccess) -> MotoServices:
        """Build what answers requests. moto is imported at the first of them."""
        from emulator.listeners.aws.moto_services import MotoServices

        services = self.services
        return MotoServices(self._events, self._prepare, services.calls, services.keep, access)

    def close(self) -> None:
        self._notifications.close()
        self.services.close()

    def _prepare(self) -> None:
        self.services.buckets.prepare()
        self._notifications.install()
