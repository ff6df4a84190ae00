"""Confirms ends to the source systems of a sandbox, as its integration declares."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Final, Protocol, cast

from emulator.assembly.components import Components
from emulator.channels.memory import MemoryChannel
from emulator.destinations import ForbiddenError
from extensions.processing.confirmation import (
    Confirmation,
    ConfirmationCallback,
    DelegateConfirmation,
    EventConfirmation,
    HttpConfirmation,
    TopicConfirmation,
)
from extensions.processing.confirmation_policies import (
    ANY_SOURCE,
    ByHttp,
    ByRdss,
    ByTopic,
    ConfirmationPolicy,
    ConfirmBy,
)
from extensions.processing.integration import Integration
from extensions.processing.processing_errors import IntegrationError

TOPICS: Final = "topics"
"""The extension that confirms by a message of a topic."""
_MACHINE: Final = ("rdss-sandbox-processing", "localhost")


class _Topics(Protocol):
    """What the extension of topics has for others."""

    def publish(self, topic: str, data: bytes) -> str | None:
        """Publish a message to a topic; return None, or the reason why the topic refused it."""


class Sources:
    """Confirms to each source system in its declared way, and emits an event.

    Requests go only to destinations that ``emulator.destinations`` allows.
    """

    def __init__(self, integration: Integration, components: Components) -> None:
        self._components = components
        self._integration = integration
        self._event = EventConfirmation(components.events)
        self._stack = ExitStack()
        callbacks = {name: self._build_callback(way) for name, way in integration.confirm.items()}
        self._delegate = DelegateConfirmation(callbacks, callbacks.get(ANY_SOURCE, lambda _: None))

    @property
    def policies(self) -> dict[str, ConfirmationPolicy]:
        """The confirmation policy of each source system, by its name in capitals."""
        return {name.upper(): way for name, way in self._integration.confirm.items()}

    def __call__(self, confirmation: Confirmation, /) -> None:
        self._delegate(confirmation)
        self._event(confirmation)

    def close(self) -> None:
        self._stack.close()

    def _build_callback(self, way: ConfirmBy) -> ConfirmationCallback:
        match way:
            case ByHttp():
                from emulator.http.outgoing import checked_client

                client = self._stack.enter_context(checked_client(self._components.destinations, way.timeout))
                return HttpConfirmation(
                    way.url, client, method=way.method, headers=way.headers, body=way.body
                )
            case ByRdss():
                return self._build_rdss(way)
            case ByTopic():
                return TopicConfirmation(partial(self._topics().publish, way.topic), body=way.body)
            case _:
                return lambda _: None

    def _topics(self) -> _Topics:
        found = self._components.find(TOPICS)
        assert found is not None
        return cast("_Topics", found)

    def _build_rdss(self, way: ByRdss) -> ConfirmationCallback:
        components = self._components
        # Slow to import, and needed only for sources that are notified by a message.
        from extensions.processing.rdss_confirmation import RdssConfirmation
        from sandbox.gateway import Machine

        channel = MemoryChannel(
            components.streams,
            way.stream,
            clock=components.clock,
            fault_engine=components.fault_engine,
            scope=components.home,
        )
        return RdssConfirmation(
            channel, components.clock, generator="Asynchronous processing", machine=Machine(*_MACHINE)
        )


def check_confirmations(integration: Integration, components: Components) -> None:
    """Raise IntegrationError for a source that must not be told, or cannot be.

    It resolves host names. Call it after the sandbox's own ports are open, since those are forbidden too.
    """
    for name, way in integration.confirm.items():
        said_at = integration.origins.get(name, name)
        if isinstance(way, ByHttp):
            try:
                components.destinations.check(way.url)
            except ForbiddenError as error:
                raise IntegrationError(f"{said_at}: {error}; tell {name} elsewhere") from error
        if isinstance(way, ByTopic) and components.find(TOPICS) is None:
            raise IntegrationError(f"{said_at}: {name} is told by a topic, and topics are not installed")
