"""Events of a run as sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rdss_sandbox.shapes.events import Event
from schemas.error_codes import ErrorCode
from tui.text import figures
from tui.text.trace import describe

_Fields: TypeAlias = Mapping[str, Any]
TURNS = {
    "fault.injected": "!",
    "stream.resharded": "◆",
    "receiver.crashed": "✗",
    "receiver.failed": "✗",
    "sender.failed": "✗",
    "message.rejected": "▼",
    "message.refused": "▼",
}
"""The kinds of events that are turning points of a run, with their signs."""


def sentence(event: Event) -> str:
    """The event as a sentence; an unknown kind as its name and fields."""
    say = _SENTENCES.get(event.kind)
    return say(event.fields) if say else f"{event.kind}: {describe(event.fields)}".removesuffix(": ")


def name_of(fields: _Fields) -> str:
    """The short name of a message: the first part of its messageId, and its position in a sequence."""
    name = str(fields.get("message_id", "?"))
    if name.startswith("unreadable"):
        return "an unreadable message"
    part = f" part {fields['position']}" if "position" in fields else ""
    return f"{name[:8]}{part}"


def _offered(fields: _Fields) -> str:
    return f"the application wants {name_of(fields)} sent, {figures.size(fields.get('size', 0))}"


def _acknowledged(fields: _Fields) -> str:
    return f"the broker has {name_of(fields)} on {_place(fields)}"


def _refused(fields: _Fields) -> str:
    return f"the broker did not take {name_of(fields)}: {fields.get('code') or 'it did not say why'}"


def _delivered(fields: _Fields) -> str:
    return f"the receiver is given {name_of(fields)} from {_place(fields)}"


def _processed(fields: _Fields) -> str:
    joined = f", joined from {fields['parts']} parts" if fields.get("parts", 1) > 1 else ""
    return f"the application has processed {name_of(fields)}{joined}"


def _rejected(fields: _Fields) -> str:
    code = fields.get("code")
    meaning = next((f", {each.description}" for each in ErrorCode if each == code), "")
    return f"{name_of(fields)} is in the {fields.get('queue')} queue: {code or 'no code'}{meaning}"


def _resharded(fields: _Fields) -> str:
    closed = ", ".join(map(figures.shard, fields.get("closed", ())))
    opened = ", ".join(map(figures.shard, fields.get("opened", ())))
    return f"{fields.get('stream')} was resharded: {closed} closed, {opened} opened"


def _injected(fields: _Fields) -> str:
    return f"the fault {fields.get('fault')} struck: {fields.get('did', fields.get('type'))}"


def _added(fields: _Fields) -> str:
    return f"the fault {fields.get('fault')} ({fields.get('type')}) is in force on {fields.get('channel')}"


def _created(fields: _Fields) -> str:
    shards = fields.get("shards")
    return f"the stream {fields.get('stream')} was made with {shards} shard{'' if shards == 1 else 's'}"


def _claimed(fields: _Fields) -> str:
    return f"{fields.get('client')} claims {_messages(fields)} for {fields.get('ttl')} s"


def _claim_expired(fields: _Fields) -> str:
    return f"the claim of {fields.get('client')} expires with {_messages(fields)} in it"


def _messages(fields: _Fields) -> str:
    number = len(fields.get("messages", ()))
    return f"{number} message{'' if number == 1 else 's'}"


def _delete_refused(fields: _Fields) -> str:
    return f"{fields.get('worker')} may not delete {str(fields.get('message'))[:8]}: {fields.get('why')}"


def _claim_lost(fields: _Fields) -> str:
    return f"{fields.get('worker')} leaves {str(fields.get('message'))[:8]}, whose claim it holds no more"


def _place(fields: _Fields) -> str:
    shard = f", shard {figures.shard(str(fields['shard']))}" if fields.get("shard") else ""
    return f"{fields.get('channel', 'the channel')}{shard}"


_SENTENCES: dict[str, Callable[[_Fields], str]] = {
    "message.offered": _offered,
    "message.acknowledged": _acknowledged,
    "message.refused": _refused,
    "message.delivered": _delivered,
    "message.processed": _processed,
    "message.rejected": _rejected,
    "stream.resharded": _resharded,
    "stream.created": _created,
    "fault.injected": _injected,
    "fault.added": _added,
    "queue.claimed": _claimed,
    "queue.claim_expired": _claim_expired,
    "delete.refused": _delete_refused,
    "claim.lost": _claim_lost,
    "receiver.read_empty": lambda _: "the receiver reads and finds nothing",
    "receiver.started": lambda _: "the receiving process starts",
    "receiver.crashed": lambda fields: f"the receiving process is killed ({fields.get('target')})",
    "receiver.failed": lambda fields: f"the receiving process ends: {fields.get('why')}",
    "sender.failed": lambda fields: f"sending ends: {fields.get('why')}",
}
