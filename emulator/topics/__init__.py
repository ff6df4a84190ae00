"""Topics with a state of the world: publishing, deltas, queries, subscriptions that say what left them."""

from emulator.topics.definitions import (
    Access,
    Column,
    ConflatedTopic,
    Definition,
    Entitlement,
    Queue,
    Topic,
    View,
)
from emulator.topics.engine import NameInUse, Session, Topics, TopicSummary

__all__ = [
    "Access",
    "Column",
    "ConflatedTopic",
    "Definition",
    "Entitlement",
    "NameInUse",
    "Queue",
    "Session",
    "Topic",
    "TopicSummary",
    "Topics",
    "View",
]
