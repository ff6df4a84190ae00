"""Splitting: a message is replaced by children, and waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extensions.processing.async_message_store import AsyncStore
from extensions.processing.processing_parameters import Parameters
from extensions.processing.progress import Progress
from extensions.processing.route_exchange import Child
from extensions.processing.stored_messages import Message, NewMessage
from extensions.processing.transitions import Cause
from rdss_sandbox.shapes.processing import State


class Splitting:
    """Inserts the children of a message, and restarts existing ones after a restart of their parent."""

    def __init__(self, store: AsyncStore, parameters: Parameters, progress: Progress) -> None:
        self._store = store
        self._parameters = parameters
        self._progress = progress

    def split(self, parent: Message, children: Sequence[Child], **columns: Any) -> list[Message]:
        """Leave ``parent`` WAITING and return its new children, in the order of their first run.

        A parent that was split before keeps its children; those that failed or were cancelled are restarted.
        """
        with self._store.transaction():
            existing = self._store.children(parent.number)
            why = f"into {len(existing) or len(children)} children"
            if self._progress.move(parent.number, Cause.SPLIT, held=parent.step, why=why, **columns) is None:
                return []
            inserted = (
                [] if existing else [self._insert(parent, at, child) for at, child in enumerate(children, 1)]
            )
            for child in existing:
                if child.state in {State.FAILED, State.CANCEL}:
                    now = self._store.clock.time()
                    self._store.change(child.number, Cause.RESTARTED, due=now, why="with its parent")
            self._progress.settle_parent(parent.number)
            return inserted

    def _insert(self, parent: Message, position: int, child: Child) -> Message:
        new = NewMessage(
            service=child.service,
            operation=child.operation,
            body=child.body,
            source=parent.source,
            correlation=f"{parent.correlation}_{position}",
            timestamp=parent.timestamp,
            process=parent.process,
            object_id=child.object_id,
            entity_type=child.entity_type,
            funnel=child.funnel,
        )
        kin: dict[str, Any] = {"parent": parent.number, "position": position, "binding": child.binding}
        return self._store.insert(new, lease=self._parameters.lease, received=parent.received, **kin)
