"""Topics with a state of the world: publishing, deltas, queries, subscriptions that say what left them."""

from emulator.topics.engine.definitions import (
    BadDefinition,
    Column,
    ConflatedTopic,
    Definition,
    Queue,
    Topic,
    View,
)
from emulator.topics.engine.engine import LogEntry, NameInUse, Topics, TopicSummary
from emulator.topics.engine.refusals import Refused
from emulator.topics.engine.session import Session
from rdss_sandbox.shapes.topics import Access, Entitlement

__all__ = [
    "Access",
    "BadDefinition",
    "Column",
    "ConflatedTopic",
    "Definition",
    "Entitlement",
    "LogEntry",
    "NameInUse",
    "Queue",
    "Refused",
    "Session",
    "Topic",
    "TopicSummary",
    "Topics",
    "View",
]
