"""Confirms ends to the source systems of a sandbox, as its integration declares."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import msgspec

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
from rdss_sandbox.shapes.topics import OURS

if TYPE_CHECKING:
    from extensions.topics.engine.outgoing_messages import Message

_MACHINE: Final = ("rdss-sandbox-processing", "localhost")


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
                return TopicConfirmation(lambda data: self._publish(way.topic, data), body=way.body)
            case _:
                return lambda _: None

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

    def _publish(self, topic: str, data: bytes) -> str | None:
        """Publish a message to a topic; return None, or the reason why the topic refused it."""
        from extensions.topics.engine.commands import Publish
        from extensions.topics.engine.outgoing_messages import Ack

        came: list[Message] = []
        ended: list[str] = []
        session = self._components.topics.session(OURS, came.append, ended=ended.append)
        try:
            session.execute(Publish(topic, msgspec.Raw(data), ack_type="processed", cmd_id="1"))
        finally:
            self._components.topics.left(session, ended.append)
        acks = [each for each in came if isinstance(each, Ack)]
        if not acks:
            return f"the topic {topic} did not answer"
        return (
            None if acks[-1].status == "success" else f"the topic {topic} did not take it: {acks[-1].reason}"
        )


def find_forbidden_destination(integration: Integration, components: Components) -> str | None:
    """Describe the first confirmation URL that is forbidden; None when all are allowed.

    It resolves host names. Call it after the sandbox's own ports are open, since those are forbidden too.
    """
    for name, way in integration.confirm.items():
        if isinstance(way, ByHttp):
            try:
                components.destinations.check(way.url)
            except ForbiddenError as error:
                return f"{integration.origins.get(name, name)}: {error}; tell {name} elsewhere"
    return None
