"""The topics configuration file: the topics of a sandbox, their users and entitlements."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from emulator.settings.document_files import read_document
from emulator.settings.setting_errors import SettingsError
from emulator.settings.wrong_values import explain_value
from extensions.topics.engine.topic_definitions import Definition, Topic
from extensions.topics.engine.topics_engine import TopicsEngine
from rdss_sandbox.shapes.topics import OBJECTS, OURS, Access, Downstream, Entitlement

_OBJECTS_TOPIC: Final = Topic(name=OBJECTS, keys=("/objectUUID",), logged=True, expiration=0)


class User(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A user, who is identified by the bearer token ``token``."""

    name: str
    token: str


class TopicConfiguration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The configured topics; one named ``objects`` replaces the sandbox's own.

    Without ``users``, clients give their user name themselves. Without ``entitlements``, every user may do
    everything. ``retention`` is the minimum time in seconds for which the transaction log can be replayed, by
    default a week; None means for ever. ``downstreams`` are the sandboxes that topics can name.
    """

    topics: tuple[Definition, ...] = ()
    users: tuple[User, ...] = ()
    entitlements: tuple[Entitlement, ...] | None = None
    reveal_users: bool = True
    retention: float | None = 604_800.0
    downstreams: tuple[Downstream, ...] = ()

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """All topics, including the sandbox's own ``objects``."""
        named = any(topic.name == OBJECTS for topic in self.topics)
        return self.topics if named else (_OBJECTS_TOPIC, *self.topics)

    @property
    def access(self) -> Access:
        """The entitlements."""
        return Access(entitlements=self.entitlements, reveal_users=self.reveal_users)


def add_own_access(access: Access) -> Access:
    """Add to ``access`` that the sandbox itself may do everything."""
    rules = access.entitlements
    ours = None if rules is None else (Entitlement(user=OURS, topic="*"), *rules)
    return Access(entitlements=ours, reveal_users=access.reveal_users)


NO_CONFIGURATION: Final = TopicConfiguration()


def read_configuration(path: Path) -> TopicConfiguration:
    """Read a TOML, YAML or JSON file. Raises SettingsError."""
    try:
        document = read_document(path)
        found = msgspec.convert(document, TopicConfiguration)
        # Topics, downstreams and entitlements that cannot be are refused when they are put together.
        clock = Clock()
        TopicsEngine(
            None,
            clock,
            Events(clock),
            found.definitions,
            access=found.access,
            downstreams=found.downstreams,
        ).close()
    except msgspec.ValidationError as error:
        _, why = explain_value(error, document, TopicConfiguration, whole="the document")
        raise SettingsError(f"topics {path} cannot be used: {why}") from error
    except (OSError, ValueError) as error:
        raise SettingsError(f"topics {path} cannot be used: {error}") from error
    for topic in found.topics:
        if isinstance(topic, Topic) and topic.name == OBJECTS and topic.message_type != "json":
            raise SettingsError(f"topics {path} cannot be used: the topic {OBJECTS!r} is fed with JSON")
    for name in (user.name for user in found.users):
        if name == OURS:
            raise SettingsError(f"topics {path} cannot be used: the user {name!r} is the sandbox itself")
    return found
