"""The source systems of a sandbox, told of ends in the ways that its integration declares."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import msgspec

from emulator.assembly.components import Components
from emulator.channels.memory import MemoryChannel
from emulator.destinations import ForbiddenError
from rdss_sandbox.shapes.topics import OURS
from sandbox.gateway import Machine
from sandbox.processing.confirmation import (
    Confirmation,
    ConfirmationCallback,
    DelegateConfirmation,
    EventConfirmation,
    HttpConfirmation,
    RdssConfirmation,
    TopicConfirmation,
)
from sandbox.processing.integration import Integration
from sandbox.processing.telling import EVERYBODY, ByHttp, ByRdss, ByTopic, Telling, Way

if TYPE_CHECKING:
    from emulator.topics.engine.messages import Message

_MACHINE: Final = Machine("rdss-sandbox-processing", "localhost")


class Sources:
    """Tells each source system in its way, and says so in the events.

    What has to be sent goes to no place that ``emulator.destinations`` forbids.
    """

    def __init__(self, integration: Integration, parts: Components) -> None:
        self._parts = parts
        self._integration = integration
        self._event = EventConfirmation(parts.events)
        self._stack = ExitStack()
        told = {name: self._callback(way) for name, way in integration.confirm.items()}
        self._delegate = DelegateConfirmation(told, told.get(EVERYBODY, lambda _: None))

    @property
    def tellings(self) -> dict[str, Telling]:
        """Of what and how often each is told, by its name in capitals."""
        return {name.upper(): way for name, way in self._integration.confirm.items()}

    def __call__(self, confirmation: Confirmation, /) -> None:
        self._delegate(confirmation)
        self._event(confirmation)

    def close(self) -> None:
        self._stack.close()

    def _callback(self, way: Way) -> ConfirmationCallback:
        match way:
            case ByHttp():
                return self._http(way)
            case ByRdss():
                return self._rdss(way)
            case ByTopic():
                return TopicConfirmation(lambda data: self._publish(way.topic, data), body=way.body)
            case _:
                return lambda _: None

    def _http(self, way: ByHttp) -> HttpConfirmation:
        from emulator.http.outgoing import checked_client

        client = self._stack.enter_context(checked_client(self._parts.destinations, way.timeout))
        return HttpConfirmation(way.url, client, method=way.method, headers=way.headers, body=way.body)

    def _rdss(self, way: ByRdss) -> RdssConfirmation:
        parts = self._parts
        channel = MemoryChannel(
            parts.streams, way.stream, clock=parts.clock, fault_engine=parts.fault_engine, scope=parts.home
        )
        return RdssConfirmation(channel, parts.clock, generator="Asynchronous processing", machine=_MACHINE)

    def _publish(self, topic: str, data: bytes) -> str | None:
        """Give a message to a topic, kept as far as the topic keeps any; why it was not taken."""
        from emulator.topics.engine.commands import Publish
        from emulator.topics.engine.messages import Ack

        came: list[Message] = []
        ended: list[str] = []
        session = self._parts.topics.session(OURS, came.append, ended=ended.append)
        try:
            session.execute(Publish(topic, msgspec.Raw(data), ack_type="processed", cmd_id="1"))
        finally:
            self._parts.topics.left(session, ended.append)
        acks = [each for each in came if isinstance(each, Ack)]
        if not acks:
            return f"the topic {topic} did not answer"
        return (
            None if acks[-1].status == "success" else f"the topic {topic} did not take it: {acks[-1].reason}"
        )


def refused_destination(integration: Integration, parts: Components) -> str | None:
    """Where a source is to be told at a place that must not be called, and why; None where there is none.

    It asks the name service. The sandbox's own ports are known once they are open.
    """
    for name, way in integration.confirm.items():
        if isinstance(way, ByHttp):
            try:
                parts.destinations.check(way.url)
            except ForbiddenError as error:
                return f"{integration.places.get(name, name)}: {error}; tell {name} elsewhere"
    return None
