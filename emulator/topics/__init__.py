"""Topics with a state of the world: publishing, deltas, queries, subscriptions that say what left them."""

from emulator.topic_resources import Access, Entitlement
from emulator.topics.definitions import (
    BadDefinition,
    Column,
    ConflatedTopic,
    Definition,
    Queue,
    Topic,
    View,
)
from emulator.topics.engine import Happening, NameInUse, Topics, TopicSummary
from emulator.topics.refusals import Refused
from emulator.topics.session import Session

__all__ = [
    "Access",
    "BadDefinition",
    "Column",
    "ConflatedTopic",
    "Definition",
    "Entitlement",
    "Happening",
    "NameInUse",
    "Queue",
    "Refused",
    "Session",
    "Topic",
    "TopicSummary",
    "Topics",
    "View",
]
