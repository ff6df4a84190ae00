"""Splitting: a message handed over to children, on whose ends its own depends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbox.processing.exchange import Child
from sandbox.processing.parameters import Parameters
from sandbox.processing.progress import Progress
from sandbox.processing.records import Message, NewMessage
from sandbox.processing.states import State
from sandbox.processing.store import Store
from sandbox.processing.transitions import Cause


class Splitting:
    """Makes children, and wakes those there are when their parent was restarted."""

    def __init__(self, store: Store, parameters: Parameters, progress: Progress) -> None:
        self._store = store
        self._parameters = parameters
        self._progress = progress

    def split(self, parent: Message, children: Sequence[Child], **columns: Any) -> list[Message]:
        """Leave ``parent`` WAITING for its children; those that are new, in order, for their first run.

        A parent that was split before has the children of then: those that failed are taken up again.
        """
        with self._store.transaction():
            there = self._store.children(parent.number)
            why = f"into {len(there) or len(children)} children"
            if self._progress.move(parent.number, Cause.SPLIT, held=parent.step, why=why, **columns) is None:
                return []
            made = [] if there else [self._insert(parent, at, child) for at, child in enumerate(children, 1)]
            for child in there:
                if child.state in {State.FAILED, State.CANCEL}:
                    now = self._store.clock.time()
                    self._store.change(child.number, Cause.RESTARTED, due=now, why="with its parent")
            self._progress.settle_parent(parent.number)
            return made

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
