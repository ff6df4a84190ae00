"""Scenarios and a run of fixed figures, for pictures that must come out the same on every machine."""

from __future__ import annotations

from typing import Any

from rdss_sandbox.client import RefusedError
from rdss_sandbox.shapes import scenarios as s
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import NewFault

BEGAN = 1_767_225_600.0
TEACH = s.Teaching(
    happens="Every fourth message is put twice: the same bytes, but each time a new sequence number.",
    why="A missing answer says nothing: the message may be there or not. The producer must send again.",
    client="Knows a message by its messageId, never by its sequence number, and drops what it knows.",
)


def events(messages: int = 24) -> tuple[Event, ...]:
    """A run: every message is offered, taken, delivered, processed, but one refused and two left over."""
    made: list[tuple[float, str, dict[str, Any]]] = [
        (0.0, "stream.created", {"stream": "input", "shards": 2}),
        (0.0, "fault.added", {"fault": "retries", "type": "duplicate", "channel": "input"}),
    ]
    for number in range(messages):
        at, name = number * 0.5, f"{number:08x}-0000-4000-8000-000000000000"
        place = {"channel": "input", "message_id": name, "shard": f"shardId-{number % 2:012}"}
        made += [
            (at, "message.offered", {"message_id": name, "size": 3457}),
            (at, "message.acknowledged", place),
        ]
        if number == 9:
            split = {"stream": "input", "action": "split", "closed": ["shardId-000000000000"]}
            made.append((at, "stream.resharded", split | {"opened": ["shardId-000000000002"]}))
        if number % 4 == 3:
            made.append(
                (at, "fault.injected", {"fault": "retries", "type": "duplicate", "did": "put once more"})
            )
        made.append((at + 0.2, "message.delivered", place))
        if number == 6:
            made.append(
                (at + 0.3, "message.rejected", {"message_id": name, "queue": "invalid", "code": "GENERR001"})
            )
        elif number < messages - 2:
            made.append((at + 0.3, "message.processed", {"message_id": name, "parts": 1}))
    made.append((messages * 0.5, "receiver.crashed", {"target": "receiver-before-work"}))
    return tuple(Event(number, BEGAN + at, kind, fields) for number, (at, kind, fields) in enumerate(made, 1))


class CannedScenarios:
    """Answers as ``AsyncScenarios`` does; ``missing`` as a sandbox that plays none."""

    def __init__(self) -> None:
        self.missing = False
        self.begun: list[s.NewRun] = []

    async def list(self) -> tuple[s.Scenario, ...]:
        if self.missing:
            raise RefusedError(404, "not_found", "there is nothing at /scenarios")
        faults = (
            NewFault("duplicate", name="retries", channel="input", direction="publish", when={"every": 4}),
        )
        named = (
            ("happy-path", "Nothing goes wrong"),
            ("producer-retry", "A producer that saw no answer sends the same message again"),
            ("oversize", "A message that is too large"),
        )
        expect: dict[str, int | float | str] = {"repeated": 10, "processed": "== offered"}
        return tuple(s.Scenario(name, title, TEACH, faults, expect) for name, title in named)

    async def begin(self, run: s.NewRun) -> s.ScenarioRun:
        self.begun.append(run)
        return await self.run(len(self.begun), state="running")

    async def runs(self) -> tuple[s.ScenarioRun, ...]:
        return tuple([await self.run(number) for number in range(len(self.begun), 0, -1)])

    async def run(self, run: int, *, state: s.RunState = "done") -> s.ScenarioRunDetail:
        lines = (
            s.Line("lost", "0", "0", holds=True),
            s.Line("twice", "0", "1", holds=False),
            s.Line("injected.retries", "6", "0", holds=None),
        )
        asked = self.begun[run - 1] if self.begun else s.NewRun("producer-retry")
        return s.ScenarioRunDetail(
            run,
            asked.scenario,
            "A producer that saw no answer sends the same message again",
            asked.seed or 7,
            "memory",
            state,
            verdict="fail" if state == "done" else "",
            events=len(events()) if state == "done" else 0,
            folder="runs/producer-retry/2026-05-28T20-26-40Z",
            command=f"sandbox scenario run {asked.scenario} --seed {asked.seed or 7}",
            teach=TEACH,
            lines=lines,
        )

    async def events(self, _run: int, *, after: int = 0, limit: int = 5000) -> tuple[Event, ...]:
        return tuple(event for event in events() if after < event.id <= after + limit)


class NothingInstalled:
    """The client of an extension that this sandbox has not."""

    async def list(self) -> Any:
        raise RefusedError(404, "no_such_resource", "this sandbox has no such extension")
