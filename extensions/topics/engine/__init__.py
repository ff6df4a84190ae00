"""The topic engine: publishing, deltas, a state of the world (SOW), queries, subscriptions and queues."""

from extensions.topics.engine.client_session import ClientSession
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.topic_definitions import (
    BadDefinitionError,
    ConflatedTopic,
    Definition,
    Queue,
    Topic,
    View,
    ViewColumn,
)
from extensions.topics.engine.topics_engine import LogEntry, NameInUseError, TopicsCopy, TopicsEngine
from rdss_sandbox.shapes.topics import Access, Downstream, Entitlement

__all__ = [
    "Access",
    "BadDefinitionError",
    "ClientSession",
    "CommandRefusedError",
    "ConflatedTopic",
    "Definition",
    "Downstream",
    "Entitlement",
    "LogEntry",
    "NameInUseError",
    "Queue",
    "Topic",
    "TopicsCopy",
    "TopicsEngine",
    "View",
    "ViewColumn",
]
