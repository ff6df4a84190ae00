"""A run that is over: what it teaches, everything that happened in it, what was judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from rdss_sandbox.client import AsyncClient
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.scenarios import Line, Teaching

_PAGE = 5000


class RecordingError(ValueError):
    """A folder that is no run's; says which file of it, and why."""


@dataclass(frozen=True)
class Recording:
    """A run to look through; ``command`` plays it again, ``verdict`` is empty where there is none."""

    title: str
    seed: int | None
    verdict: str
    command: str
    teach: Teaching
    lines: tuple[Line, ...]
    events: tuple[Event, ...]


class _Taught(msgspec.Struct):
    teach: Teaching = Teaching()


class _Summary(msgspec.Struct):
    """What is shown of ``summary.json``; runs of other kinds than scenarios have less in it."""

    name: str = ""
    title: str = ""
    seed: int | None = None
    verdict: str = ""
    command: str = ""
    lines: tuple[Line, ...] = ()
    scenario: _Taught = msgspec.field(default_factory=_Taught)


def read_recording(folder: Path) -> Recording:
    """The run in ``folder``: its events.ndjson and, where there is one, summary.json. RecordingError."""
    if not folder.is_dir():
        raise RecordingError(f"{folder} is not a folder; runs are in runs/SCENARIO/TIME/")
    summary = _summary(folder / "summary.json")
    title = summary.title or summary.name or folder.name
    return Recording(
        title,
        summary.seed,
        summary.verdict,
        summary.command,
        summary.scenario.teach,
        summary.lines,
        _events(folder / "events.ndjson"),
    )


async def fetch_recording(client: AsyncClient, run: int) -> Recording:
    """The run of this id, which is over, from the sandbox that played it."""
    detail = await client.scenarios.run(run)
    events: list[Event] = []
    while page := await client.scenarios.events(run, after=events[-1].id if events else 0, limit=_PAGE):
        events += page
    return Recording(
        detail.title, detail.seed, detail.verdict, detail.command, detail.teach, detail.lines, tuple(events)
    )


def _summary(path: Path) -> _Summary:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Summary)
    except FileNotFoundError:
        return _Summary()
    except (OSError, msgspec.MsgspecError) as error:
        raise RecordingError(f"{path} cannot be read: {error}") from error


def _events(path: Path) -> tuple[Event, ...]:
    decode = msgspec.json.Decoder(Event).decode
    events: list[Event] = []
    try:
        with path.open("rb") as file:
            events.extend(decode(line) for line in file if line.strip())
    except FileNotFoundError as error:
        raise RecordingError(f"{path} is missing: play the scenario with --report ndjson") from error
    except (OSError, msgspec.MsgspecError) as error:
        raise RecordingError(f"{path}, event {len(events) + 1}: {error}") from error
    if not events:
        raise RecordingError(f"{path} is empty: nothing happened in that run")
    return tuple(events)
