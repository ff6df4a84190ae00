"""Which topics a sandbox has, who may use them, and how their users are known: read from one file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from emulator.settings.settings import SettingsError
from emulator.topics.engine import Definition, Topic, Topics
from rdss_sandbox.shapes.topics import OBJECTS, OURS, Access, Downstream, Entitlement

_OBJECTS_TOPIC: Final = Topic(name=OBJECTS, keys=("/objectUUID",), logged=True, expiration=0)


class User(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whoever brings ``token`` as a bearer token is the user ``name``."""

    name: str
    token: str


class TopicConfiguration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Topics beside ``objects``, or ``objects`` anew. Without ``users`` clients say themselves who they are.

    ``entitlements`` as in ``Access``: without any everybody may do everything. ``retention`` is how many
    seconds, a week, the transaction log can be replayed at least; None for ever. ``downstreams`` are the
    sandboxes that topics can name.
    """

    topics: tuple[Definition, ...] = ()
    users: tuple[User, ...] = ()
    entitlements: tuple[Entitlement, ...] | None = None
    reveal_users: bool = True
    retention: float | None = 604_800.0
    downstreams: tuple[Downstream, ...] = ()

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """Every topic, the sandbox's own among them."""
        named = any(topic.name == OBJECTS for topic in self.topics)
        return self.topics if named else (_OBJECTS_TOPIC, *self.topics)

    @property
    def access(self) -> Access:
        """Who may do what."""
        return Access(entitlements=self.entitlements, reveal_users=self.reveal_users)


def with_ours(access: Access) -> Access:
    """``access``, and that the sandbox itself may do everything."""
    rules = access.entitlements
    ours = None if rules is None else (Entitlement(user=OURS, topic="*"), *rules)
    return Access(entitlements=ours, reveal_users=access.reveal_users)


NO_CONFIGURATION: Final = TopicConfiguration()


def read_configuration(path: Path) -> TopicConfiguration:
    """What a TOML, YAML or JSON file says. SettingsError when it cannot be used."""
    try:
        found = msgspec.convert(_parsed(path), TopicConfiguration)
        _assemble(found)
    except (OSError, ValueError) as error:
        raise SettingsError(f"topics {path} cannot be used: {error}") from error
    for topic in found.topics:
        if isinstance(topic, Topic) and topic.name == OBJECTS and topic.message_type != "json":
            raise SettingsError(f"topics {path} cannot be used: the topic {OBJECTS!r} is fed with JSON")
    for name in (user.name for user in found.users):
        if name == OURS:
            raise SettingsError(f"topics {path} cannot be used: the user {name!r} is the sandbox itself")
    return found


def _assemble(configuration: TopicConfiguration) -> None:
    """Raises BadDefinitionError for topics, downstreams and entitlements that cannot be."""
    clock = Clock()
    Topics(
        None,
        clock,
        Events(clock),
        configuration.definitions,
        access=configuration.access,
        downstreams=configuration.downstreams,
    ).close()


def _parsed(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        return tomllib.loads(text)
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
