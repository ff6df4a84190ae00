"""moto's services in this process, and what users put into them in the data directory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from emulator.assembly.foundation import Foundation
from emulator.buckets.moto_buckets import OWN_AGENT, MotoBuckets
from emulator.listeners.aws.moto_calls import MotoCalls
from emulator.services.service_store import ServiceStore
from emulator.services.sqs_clock import follow_clock


class OwnServices:
    """The own ``buckets``, the ``store`` of what moto's services hold, and the ``calls`` that moto makes.

    Raises ``OtherVersionError`` when another version wrote what is in the directory.
    """

    def __init__(self, foundation: Foundation) -> None:
        directory, events = foundation.directory, foundation.events
        self.buckets = MotoBuckets(
            foundation.home,
            foundation.clock,
            directory.objects if directory else None,
            trust=foundation.trust,
        )
        self.store = ServiceStore(
            directory.services if directory else None, events, fsync=foundation.settings.fsync
        )
        self.store.check_versions()
        self.store.on_open["s3"] = self.buckets.make
        self.store.on_open["sqs"] = partial(follow_clock, foundation.clock)
        self.buckets.forget, self.buckets.held = self.store.clear, self.store.held
        self.calls = MotoCalls(foundation.destinations, events)

    def keep(self, service: str, environ: Mapping[str, Any]) -> AbstractContextManager[None]:
        """Store what a request changes before the context ends; see ``ServiceStore.request``."""
        own = OWN_AGENT in environ.get("HTTP_USER_AGENT", "")
        return self.store.request(service, environ, archives=self.buckets.bodies if own else None)

    def set_endpoint(self, url: str, token: str | None) -> None:
        """Give the URL and token of the AWS port, for the buckets' client."""
        self.buckets.endpoint, self.buckets.token = url, token

    def close(self) -> None:
        self.calls.close()
        self.store.close()
        self.buckets.close()
