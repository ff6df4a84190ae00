"""What a sandbox has to say about a test that failed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rdss_sandbox.client import RefusedError, UnreachableError
from rdss_sandbox.testing.assertions import describe_shard
from rdss_sandbox.testing.findings import NotDiagnosedError, list_findings

if TYPE_CHECKING:
    from rdss_sandbox.client import Client
    from rdss_sandbox.shapes.events import Event
    from rdss_sandbox.shapes.faults import Fault

_EVENTS: Final = 15
_PAGE: Final = 1000
_MOST_PAGES: Final = 20
_WIDTH: Final = 160
_MARKS: Final = ("duplicate", "late", "oversize")


def build_report(client: Client, after: int) -> str:
    """What became of the messages, the faults, the readers, and the last events with an id above ``after``.

    What the sandbox does not answer is told in the place of its part: a report never fails.
    """
    try:
        events = _read_events(client, after)
    except (RefusedError, UnreachableError) as error:
        return str(error)
    parts: tuple[tuple[str, Callable[[], Iterator[str]]], ...] = (
        ("messages by outcome", lambda: _tell_messages(client)),
        ("faults in force", lambda: _tell_faults(client, events)),
        ("readers", lambda: _tell_readers(client)),
        *([("what clients did wrong", lambda: iter(wrong))] if (wrong := _find_wrong(client)) else []),
        ("last events", lambda: _tell_events(events)),
    )
    lines: list[str] = []
    for title, tell in parts:
        try:
            entries = list(tell())
        except (RefusedError, UnreachableError) as error:
            entries = [str(error)]
        lines += [f"{title}:", *(f"  {line}" for line in entries or ["none"])]
    return "\n".join(lines)


def _read_events(client: Client, after: int) -> list[Event]:
    after = max(after, client.last_event() - _MOST_PAGES * _PAGE)
    found: list[Event] = []
    while page := client.events(after=after, limit=_PAGE):
        found += page
        after = page[-1].id
    return found


def _find_wrong(client: Client) -> list[str]:
    """The lines of the findings; empty where there are none, or clients cannot be judged."""
    try:
        return [line for finding in list_findings(client) for line in finding.splitlines()]
    except (NotDiagnosedError, RefusedError, UnreachableError):
        return []


def _tell_messages(client: Client) -> Iterator[str]:
    for stream in sorted(client.counts("stream"), key=lambda each: each.value or ""):
        codes = client.counts("code", matching=f'stream:"{stream.value}"')
        marked = (
            (client.messages(matching=f'stream:"{stream.value}" mark:{mark}', limit=1).total, mark)
            for mark in _MARKS
        )
        entries = [
            f"{count} {what}"
            for count, what in (*((c.count, c.value) for c in codes), *marked)
            if count and what
        ]
        yield f"{stream.value} {stream.count}" + (f" ({', '.join(entries)})" if entries else "")


def _tell_faults(client: Client, events: list[Event]) -> Iterator[str]:
    for fault in client.faults():
        strikes = [
            event
            for event in events
            if event.kind == "fault.injected" and event.fields["fault"] == fault.name
        ]
        yield f"{_describe_fault(fault)}: struck {fault.injected} times"
        did = Counter(str(event.fields.get("did")) for event in strikes)
        for what, count in did.most_common(3):
            struck = [
                str(event.fields["message_id"])
                for event in strikes
                if str(event.fields.get("did")) == what and event.fields.get("message_id")
            ]
            entries = f" {', '.join(dict.fromkeys(struck[:3]))}" if struck else ""
            yield f"  {what}, {count} in all:{entries}" if entries else f"  {what}, {count} in all"


def _describe_fault(fault: Fault) -> str:
    words = [
        fault.name,
        *([fault.type] if fault.type != fault.name else []),
        "on",
        fault.channel,
        fault.direction,
    ]
    if fault.toxicity != 1:
        words.append(f"toxicity {fault.toxicity:g}")
    words += [f"{name} {value}" for name, value in fault.attributes.items()]
    return " ".join(words if fault.enabled else [*words, "(disabled)"])


def _tell_readers(client: Client) -> Iterator[str]:
    found = client.readers()
    for reader in found.readers:
        who = reader.consumer or reader.kind
        at = f"after {reader.position}" if reader.position else "before the first record"
        yield f"{reader.stream} {reader.shard or 'not subscribed'}: {who} {at}, {reader.behind} behind"
    for name in found.unread:
        shards = client.stream(name).shards
        for shard in shards:
            if shard.unread:
                yield f"unread: {name} {describe_shard(shard, shards)}"
    silent = [s.name for s in client.streams() if s.records and s.unread is None and found.known]
    if silent:
        yield f"without a reader: {', '.join(silent)}"


def _tell_events(events: list[Event]) -> Iterator[str]:
    for event in events[-_EVENTS:]:
        moment = datetime.fromtimestamp(event.time, UTC).strftime("%H:%M:%S.%f")[:-3]
        fields = {
            name: value for name, value in event.fields.items() if value is not None and name != "trace"
        }
        entries = " ".join(f"{name}={_write(value)}" for name, value in fields.items())
        line = f"{moment} {event.kind} {entries}".rstrip()
        yield line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def _write(value: object) -> str:
    return value if isinstance(value, str) and value and " " not in value else json.dumps(value)
