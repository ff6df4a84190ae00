"""Queues with claims, as OpenStack's messaging service (Marconi, now Zaqar) has them; no network in it.

``QueueEngine`` holds the queues of all projects: ``engine.queues``,
``engine.messages``, ``engine.claims`` and ``engine.subscriptions`` are the
operations, each on the ``Address`` of a queue. What is refused is a
``QueuesError``. What happens is an event: ``queue.created``, ``.deleted``,
``.messages_posted``, ``.messages_arrived``, ``.claimed``, ``.claim_renewed``,
``.released``, ``.claim_expired``, ``.message_deleted``, ``.message_expired``,
``.messages_popped``, ``.dead_lettered``, ``.purged``, ``.subscribed``,
``.unsubscribed``, ``.subscription_confirmed``; each names ``project`` and
``queue``, and ``messages`` lists ids.

A queue can be a **view on a channel**. ``engine.attach(address, source)`` with
a ``Source`` (see ``source.py``) is all there is to it. Before every operation on
the queue the engine asks the source for ``arrivals``, without its lock, keeps
them in its journal and says ``taken``; from there on they are messages like any other, and
claims on them survive a restart as any claim does. A message that leaves the
queue, however it does, is ``gone`` at the source, which commits in the channel
what is done. What clients post to a view is ``publish``ed into the channel and
arrives from there, so that faults on the channel meet it on both ways.
"""

from emulator.queues.engine.address import Address
from emulator.queues.engine.engine import QueueEngine
from emulator.queues.engine.errors import QueuesError, SourceUnavailableError
from emulator.queues.engine.message import Claim, Found, Held, Message
from emulator.queues.engine.operations.messages import NewMessage
from emulator.queues.engine.source import Arrival, Source

__all__ = [
    "Address",
    "Arrival",
    "Claim",
    "Found",
    "Held",
    "Message",
    "NewMessage",
    "QueueEngine",
    "QueuesError",
    "Source",
    "SourceUnavailableError",
]
