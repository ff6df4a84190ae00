"""The topics of a running sandbox: their service, their port, their downstreams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from emulator.assembly.component import Component, ExtensionPort, Saved
from emulator.http.admission.access_policies import CONTROL
from extensions.topics.control import TopicResources
from extensions.topics.http import TopicsApp
from extensions.topics.settings import USUAL_PORT, TopicSettings
from extensions.topics.topics_service import ObjectSources, TopicService
from rdss_sandbox.shapes.topics import OURS

if TYPE_CHECKING:
    from emulator.assembly.components import Components
    from extensions.topics.engine.outgoing_messages import Message

FOLDER: Final = "topics"


class TopicComponent(Component):
    """The ``service`` has the topics, which begin with their first use."""

    def __init__(self, components: Components) -> None:
        settings, directory = components.settings, components.directory
        self._settings = settings.of(TopicSettings)
        configured = None
        if self._settings.topics is not None:
            from extensions.topics.topic_configuration import read_configuration

            configured = read_configuration(self._settings.topics)
        self.service = TopicService(
            directory.path / FOLDER if directory else None,
            clock=components.clock,
            events=components.events,
            fault_engine=components.fault_engine,
            configured=configured,
            feeding=ObjectSources(
                components.catalogue, components.streams, frozenset(settings.topology.archives)
            ),
            fsync=settings.fsync,
            destinations=components.destinations,
        )
        self.service.look()
        self._app = TopicsApp(self.service, components.report_failure)

    def ports(self) -> Sequence[ExtensionPort]:
        # Topics with users of their own check those users' tokens themselves.
        own_tokens = bool(self._settings.topics and self.service.configuration.users)
        policy = replace(CONTROL, name="topics", is_open=lambda _scope: own_tokens)
        return [ExtensionPort("topics", USUAL_PORT, self._settings.topics_port, lambda: self._app, policy)]

    def resources(self) -> Sequence[object]:
        return [TopicResources(self.service)]

    def start(self) -> None:
        if self._settings.topics and self.service.configuration.downstreams:
            self.service.replicate()

    def stop(self) -> None:
        self._app.close()

    def close(self) -> None:
        self.service.close()

    def held(self) -> AbstractContextManager[object]:
        return self.service.held()

    def emptied(self) -> AbstractContextManager[object]:
        return self.service.closed()

    def save(self) -> Mapping[str, Sequence[bytes]]:
        return {"topics": self.service.save()}

    def load(self, saved: Saved, number: int) -> None:
        self.service.load(saved.get("topics", ()), number)

    def reset(self) -> None:
        self.service.reset()

    def publish(self, topic: str, data: bytes) -> str | None:
        """Publish a message to a topic; return None, or the reason why the topic refused it."""
        # Who publishes nothing does not wait for the imports of topics.
        from extensions.topics.engine.commands import Publish
        from extensions.topics.engine.outgoing_messages import Ack

        came: list[Message] = []
        ended: list[str] = []
        session = self.service.session(OURS, came.append, ended=ended.append)
        try:
            session.execute(Publish(topic, msgspec.Raw(data), ack_type="processed", cmd_id="1"))
        finally:
            self.service.left(session, ended.append)
        acks = [each for each in came if isinstance(each, Ack)]
        if not acks:
            return f"the topic {topic} did not answer"
        if acks[-1].status == "success":
            return None
        return f"the topic {topic} did not take it: {acks[-1].reason}"
