"""Queues with claims, as in OpenStack's messaging service (Marconi, now Zaqar), without any network.

``QueueEngine`` holds the queues of all projects. Its operations are
``engine.queues``, ``engine.messages``, ``engine.claims`` and
``engine.subscriptions``, each on the ``Address`` of a queue. A refusal raises
a ``QueuesError``. Every change emits an event: ``queue.created``, ``.deleted``,
``.messages_posted``, ``.messages_arrived``, ``.claimed``, ``.claim_renewed``,
``.released``, ``.claim_expired``, ``.message_deleted``, ``.message_expired``,
``.messages_popped``, ``.dead_lettered``, ``.purged``, ``.subscribed``,
``.unsubscribed``, ``.subscription_confirmed``; each names ``project`` and
``queue``, and ``messages`` lists ids.

A queue can be a **view on a channel**: ``engine.attach(address, source)`` with
a ``ViewSource`` (see ``source.py``). Before every operation on the queue the engine
calls ``fetch_arrivals`` without its lock, writes the arrivals to its journal, and
calls ``mark_taken``. From then on they are messages like any others, and claims
on them survive a restart. When a message leaves the queue, the engine calls
``mark_gone``. What clients post to a view goes to the channel by ``publish`` and
arrives from there, so that faults on the channel apply in both directions.
"""

from extensions.queues.engine.address import Address
from extensions.queues.engine.operations.messages import MessageToPost
from extensions.queues.engine.queue_engine import QueueEngine
from extensions.queues.engine.queue_errors import QueuesError, SourceUnavailableError
from extensions.queues.engine.queued_message import ClaimedMessages, Found, Held, QueuedMessage
from extensions.queues.engine.view_source import ViewedMessage, ViewSource

__all__ = [
    "Address",
    "ClaimedMessages",
    "Found",
    "Held",
    "MessageToPost",
    "QueueEngine",
    "QueuedMessage",
    "QueuesError",
    "SourceUnavailableError",
    "ViewSource",
    "ViewedMessage",
]
