"""A canned sandbox with asynchronous messages."""

from __future__ import annotations

from typing import Any

from rdss_sandbox.client import RefusedError
from rdss_sandbox.shapes.processing import (
    AsyncMessage,
    AsyncMessageDetail,
    CallState,
    OutsideCall,
    OutsideSystem,
    Restart,
    State,
    StateChange,
)
from tests.tui.canned import NOON, Canned

STATES = ("OK", "FAILED", "PARTLY_FAILED", "POSTPONED", "PROCESSING", "SKIPPED")
_CAUSES = (
    (None, "received", "NEW", None),
    ("NEW", "queued", "IN_QUEUE", None),
    ("IN_QUEUE", "started", "PROCESSING", None),
    ("PROCESSING", "failed for now", "PARTLY_FAILED", "preservation answered 500"),
    ("PARTLY_FAILED", "queued", "IN_QUEUE", None),
    ("IN_QUEUE", "started", "PROCESSING", None),
)


def message(number: int, state: str) -> AsyncMessage:
    failed = number % 3 if state != "OK" else 0
    return AsyncMessage(
        number,
        NOON + number,
        NOON + number + 62,
        State(state),
        "metadata",
        ("create", "update", "delete")[number % 3],
        "CRM",
        f"c-{number}",
        failed,
        object_id=f"obj-{number % 4}",
        entity_type="object",
        description="preservation answered 500" if failed else None,
        error_code="E103" if failed else None,
    )


class CannedProcessing:
    """Answers as ``AsyncProcessing`` does."""

    def __init__(self) -> None:
        self.states = [STATES[number % len(STATES)] for number in range(12)]
        self.asked: list[dict[str, Any]] = []
        self.done: list[str] = []

    async def search(self, **wanted: Any) -> tuple[AsyncMessage, ...]:
        self.asked.append(wanted)
        if wanted.get("state") == "LOST":
            raise RefusedError(400, "bad_request", "state is 'LOST': it is one of NEW, IN_QUEUE")
        found = [message(n + 1, state) for n, state in enumerate(self.states)]
        return tuple(each for each in reversed(found) if wanted.get("state") in {None, each.state})

    async def show(self, number: int) -> AsyncMessageDetail:
        state = self.states[number - 1]
        row = message(number, state)
        steps = [*_CAUSES, ("PROCESSING", "succeeded", state, None)]
        times = (0.0, 0.001, 0.002, 0.4, 60.4, 60.41, 62.0)
        changes = tuple(
            StateChange(step, row.received + after, before, cause, then, None, why)
            for step, (after, (before, cause, then, why)) in enumerate(zip(times, steps, strict=True), 1)
        )
        calls = tuple(
            OutsideCall(
                name,
                f"CRM_c-{number}",
                CallState.OK,
                failed,
                row.received + 0.002,
                row.received + at,
                None,
                None,
            )
            for name, failed, at in (
                ("repository", 0, 0.1),
                ("preservation", 1, 61.0),
                ("catalogue", 0, 61.5),
            )
        )
        actions: Any = ("restart",) if state in {"OK", "FAILED"} else ("cancel",)
        return AsyncMessageDetail(row, changes, calls, (), actions, (), None, '{"n": 1}')

    async def restart(self, number: int, how: Restart) -> AsyncMessageDetail:
        if self.states[number - 1] not in {"OK", "FAILED"}:
            raise RefusedError(
                409, "wrong_state", f"a message that is {self.states[number - 1]} cannot be restarted"
            )
        self.done.append(f"{how.kind} {number}")
        self.states[number - 1] = "PARTLY_FAILED"
        return await self.show(number)

    async def cancel(self, number: int) -> AsyncMessageDetail:
        self.done.append(f"cancel {number}")
        self.states[number - 1] = "CANCEL"
        return await self.show(number)

    async def systems(self) -> tuple[OutsideSystem, ...]:
        return (
            OutsideSystem("repository", (), 12),
            OutsideSystem("preservation", ("500", "down 60s"), 17),
            OutsideSystem("catalogue", (), 11),
        )


class CannedWithProcessing(Canned):
    """A canned sandbox in front of ``processing``."""

    def __init__(self) -> None:
        super().__init__()
        self.processing = CannedProcessing()
