"""The topic engine: publishing, deltas, a state of the world (SOW), queries, subscriptions and queues."""

from emulator.topics.engine.client_session import Session
from emulator.topics.engine.definitions import (
    BadDefinitionError,
    Column,
    ConflatedTopic,
    Definition,
    Queue,
    Topic,
    View,
)
from emulator.topics.engine.refusals import CommandRefusedError
from emulator.topics.engine.topics_copy import TopicsCopy
from emulator.topics.engine.topics_engine import LogEntry, NameInUseError, Topics
from rdss_sandbox.shapes.topics import Access, Downstream, Entitlement

__all__ = [
    "Access",
    "BadDefinitionError",
    "Column",
    "CommandRefusedError",
    "ConflatedTopic",
    "Definition",
    "Downstream",
    "Entitlement",
    "LogEntry",
    "NameInUseError",
    "Queue",
    "Session",
    "Topic",
    "Topics",
    "TopicsCopy",
    "View",
]
