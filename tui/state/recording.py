"""A finished run: its teaching text, events and verdict, from a folder or from the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rdss_sandbox.client import AsyncClient
from rdss_sandbox.shapes.certificate import FILE, Certificate
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.scenarios import Line, Teaching
from tui.state.certificate_recording import list_clause_lines, read_history, teach

_PAGE = 5000


class RecordingError(ValueError):
    """The folder is not a recorded run; the message names the file and the reason."""


@dataclass(frozen=True)
class Recording:
    """A recorded run. ``command`` is the shell command that plays it again; ``verdict`` may be empty.

    ``meanings`` are those of the error codes of its contract.
    """

    title: str
    seed: int | None
    verdict: str
    command: str
    teach: Teaching
    lines: tuple[Line, ...]
    events: tuple[Event, ...]
    meanings: Mapping[str, str] = field(default_factory=dict)


class _Taught(msgspec.Struct):
    teach: Teaching = Teaching()


class _Summary(msgspec.Struct):
    """The shown fields of ``summary.json``. Runs that are not of a scenario lack some."""

    name: str = ""
    title: str = ""
    seed: int | None = None
    verdict: str = ""
    command: str = ""
    lines: tuple[Line, ...] = ()
    codes: dict[str, str] = msgspec.field(default_factory=dict)
    scenario: _Taught = msgspec.field(default_factory=_Taught)


def read_recording(folder: Path) -> Recording:
    """Read the run in ``folder``: events.ndjson, and summary.json if present. Raises RecordingError.

    The folder of a certificate is read as a run, too.
    """
    if not folder.is_dir():
        raise RecordingError(f"{folder} is not a folder; runs are in runs/SCENARIO/TIME/")
    if (folder / FILE).is_file():
        return _read_certificate(folder)
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
        summary.codes,
    )


def _read_certificate(folder: Path) -> Recording:
    path = folder / FILE
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Certificate)
        path = folder / "events.ndjson"
        events = read_history(path)
    except (OSError, msgspec.MsgspecError) as error:
        raise RecordingError(f"{path} cannot be read: {error}") from error
    if not events:
        raise RecordingError(f"{path} is empty: nothing happened in that run")
    verdict = "fail" if found.failed else "not exercised" if found.missed else "pass"
    command = found.clauses[0].replay if found.clauses else ""
    title = f"certificate of a {found.role}: {found.level or 'no level'}"
    return Recording(title, found.seed, verdict, command, teach(found), list_clause_lines(found), events)


async def fetch_recording(client: AsyncClient, run: int) -> Recording:
    """Fetch a finished run from the sandbox that played it."""
    detail, contract = await client.scenarios.run(run), await client.contract()
    events: list[Event] = []
    while page := await client.scenarios.events(run, after=events[-1].id if events else 0, limit=_PAGE):
        events += page
    return Recording(
        detail.title,
        detail.seed,
        detail.verdict,
        detail.command,
        detail.teach,
        detail.lines,
        tuple(events),
        {each.code: each.description for each in contract.codes},
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
