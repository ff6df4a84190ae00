"""The facts of a run: named numbers, computed from its events and from the shards at its end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Final

from rdss_sandbox.shapes.events import Event
from sandbox.scenarios.expectation import Expectation, expect
from sandbox.scenarios.play import Played
from sandbox.scenarios.scenario import INPUT
from sandbox.scenarios.workload import identity
from schemas import bound

Facts = dict[str, float]
Culprits = dict[str, frozenset[str]]
"""The messageIds behind each fact of the contract."""

MEANINGS: Final = {
    "offered": "messages that the application offered to be sent",
    "parts": "offered messages, the parts of a sequence one by one",
    "valid": "offered messages that must be processed",
    "sequences": "offered messages that go in parts",
    "due": "offered messages that must be rejected; due.CODE: with this code",
    "own": "offered messages that the receiving application sends itself",
    "repeats": "offered messages with the messageId or the bytes of an earlier one",
    "incomplete": "offered parts of sequences that are not whole",
    "sent": "different messages that were put, the parts of a sequence one by one",
    "acknowledged": "different messages that the broker took, the parts of a sequence one by one",
    "refused": "times that the broker did not take a message, or did not say so",
    "delivered": "times that the broker gave a message to the receiver",
    "reached": "different messages that the broker gave to the receiver",
    "redelivered": "deliveries with a sequence number that was delivered before",
    "repeated": "deliveries with a messageId that was delivered before",
    "processed": "different messages that the application processed",
    "joined": "messages that came in parts, and were processed in one",
    "twice": "messages that the application processed more than once",
    "lost": "messages that are neither processed nor in a queue",
    "altered": "messages processed with a body that is not the one sent, byte for byte",
    "misjudged": "messages in a queue, or processed, that do not belong there",
    "rejected": "messages in the error and invalid queues; rejected.CODE: with this code",
    "dropped": "deliveries that the sandbox's receiver dropped, since it had the message",
    "echoes": "messages of the receiving application that came back to it, and were dropped",
    "waiting": "parts that the sandbox's receiver keeps at the end, since others are missing",
    "kept": "rejected messages kept whole in a bucket, because the decorated one cannot hold them",
    "out_of_order": "sequences whose parts did not come in order",
    "claims": "times that a worker claimed messages",
    "expired": "claims that expired with messages in them",
    "crashes": "times that the receiving process ended before its work was done",
    "ended": "times that a command of --client ended by itself; it must be 0",
    "backlog": "the most messages that waited for the receiver at once",
    "lag": "the longest time from the broker's acknowledgement to the end of processing, in seconds",
    "took": "the time from the first message to the last thing that was done, in seconds",
    "shards": "open shards at the end",
    "closed_shards": "closed shards at the end",
    "copies": "copies that faults made of messages; copies.NAME: the fault NAME",
    "injected": "times that faults struck; injected.NAME: the fault NAME",
}
_CHANGES: Final = frozenset({"mutate", "oversize"})
CONTRACT: Final = {"lost": 0, "twice": 0, "altered": 0, "misjudged": 0}
"""The facts that must hold in every scenario, without being in its file."""


def compute_facts(played: Played) -> Facts:
    """Compute every fact of ``MEANINGS``, and those of the single codes and faults that occurred."""
    by_kind: dict[str, list[Event]] = defaultdict(list)
    for event in played.events:
        by_kind[event.kind].append(event)
    delivered = [event for event in by_kind["message.delivered"] if event.fields["channel"] == INPUT]
    acknowledged = [event for event in by_kind["message.acknowledged"] if event.fields["channel"] == INPUT]
    refused = [event for event in by_kind["message.refused"] if event.fields["channel"] == INPUT]
    changed = changed_messages(by_kind["fault.injected"])

    def different(events: Iterable[Event]) -> set[tuple[str, int | None]]:
        # People's files may give one messageId to two messages.
        return {
            (name := each.fields["message_id"], 0 if name in changed else each.fields.get("size"))
            for each in events
        }

    counts = {
        "offered": len(played.offered),
        "sent": len(different(acknowledged + refused)),
        "acknowledged": len(different(acknowledged)),
        "refused": len(refused),
        "delivered": len(delivered),
        "reached": len(different(delivered)),
        "redelivered": len(delivered) - len({_place(event) for event in delivered}),
        "repeated": len(delivered) - len(_ids(delivered)),
        "out_of_order": _out_of_order(delivered),
        "crashes": len(by_kind["receiver.crashed"]) + len(by_kind["receiver.failed"]),
        "claims": len(by_kind["queue.claimed"]),
        "expired": sum(bool(event.fields["messages"]) for event in by_kind["queue.claim_expired"]),
        "kept": len(by_kind["original.kept"]),
        "backlog": _backlog(played.events),
        "lag": _lag(acknowledged, by_kind["message.processed"]),
        "took": _took(played),
        "shards": sum(shard.open for shard in played.shards),
        "closed_shards": sum(not shard.open for shard in played.shards),
    }
    for ended in by_kind["receiver.ended"][-1:]:
        counts |= ended.fields
    copies: Counter[str] = Counter()
    for event in by_kind["fault.injected"]:
        if event.fields["type"] == "duplicate":
            copies[event.fields["fault"]] += event.fields["data"]["copies"]
    counts |= {"copies": copies.total()} | {f"copies.{name}": n for name, n in sorted(copies.items())}
    injected = Counter(event.fields["fault"] for event in by_kind["fault.injected"])
    counts |= {"injected": injected.total()} | {f"injected.{name}": n for name, n in sorted(injected.items())}
    return counts | _outcomes(played, by_kind, delivered)


def _outcomes(played: Played, by_kind: dict[str, list[Event]], delivered: list[Event]) -> Facts:
    """Compare the outcome of each message with the one that it had to have."""
    asked = _expect(played, by_kind["fault.injected"], delivered)
    to_process, expected = asked.processed, asked.codes
    processed = by_kind["message.processed"]
    times = Counter(event.fields["message_id"] for event in processed)
    rejected = Counter(str(event.fields["code"]) for event in by_kind["message.rejected"])
    return {
        "parts": asked.parts,
        "valid": len(to_process),
        "sequences": len(asked.joined),
        "due": expected.total(),
        **{f"due.{code}": count for code, count in sorted(expected.items())},
        "own": asked.echoes,
        "repeats": asked.repeats,
        "incomplete": asked.waiting,
        "processed": len(times),
        "joined": len({event.fields["message_id"] for event in processed if event.fields["parts"] > 1}),
        "twice": sum(count > 1 for count in times.values()),
        "lost": len(to_process.keys() - times.keys()) + (expected - rejected).total(),
        "altered": sum(
            event.fields["body"]
            not in {None, to_process.get(event.fields["message_id"], event.fields["body"])}
            for event in processed
        ),
        "misjudged": len(times.keys() - to_process.keys()) + (rejected - expected).total(),
        "rejected": rejected.total(),
        **{f"rejected.{code}": count for code, count in sorted(rejected.items())},
    }


def find_culprits(played: Played) -> Culprits:
    """Find the messages that are lost, processed twice, altered or misjudged."""
    by_kind: dict[str, list[Event]] = defaultdict(list)
    for event in played.events:
        by_kind[event.kind].append(event)
    delivered = [event for event in by_kind["message.delivered"] if event.fields["channel"] == INPUT]
    asked = _expect(played, by_kind["fault.injected"], delivered)
    to_process, bad = asked.processed, dict(asked.rejected)
    bodies = {event.fields["message_id"]: event.fields["body"] for event in by_kind["message.processed"]}
    rejected = {
        event.fields["message_id"]: str(event.fields["code"]) for event in by_kind["message.rejected"]
    }
    # The names of unreadable messages change when they are decorated: their codes are counted.
    missing = Counter(bad.values()) - Counter(rejected.values())
    times = Counter(event.fields["message_id"] for event in by_kind["message.processed"])
    return {
        "lost": frozenset(to_process.keys() - times.keys())
        | {name for name, code in bad.items() if missing[code] and rejected.get(name) != code},
        "twice": frozenset(name for name, count in times.items() if count > 1),
        "altered": frozenset(
            name for name in bodies.keys() & to_process.keys() if bodies[name] not in {None, to_process[name]}
        ),
        "misjudged": frozenset(times.keys() - to_process.keys())
        | {name for name, code in rejected.items() if name in to_process or bad.get(name, code) != code},
    }


def _expect(played: Played, injections: Iterable[Event], delivered: list[Event]) -> Expectation:
    """What must become of the offered messages, by the faults' changes and by their arrival times."""
    spoiled = {event.fields["message_id"]: code for event in injections if (code := _spoils(event.fields))}
    came: dict[str, float] = {}
    for event in delivered:
        came.setdefault(event.fields["message_id"], event.time)
    came |= played.judged_at
    return expect(
        played.offered, spoiled, lambda each: came.get(identity(each.data), played.began + each.due)
    )


def _spoils(injection: dict[str, Any]) -> str | None:
    """The error code that a message must get because of an injection."""
    if injection["type"] == "mutate":
        return str(injection["data"]["code"])
    grown = injection["type"] == "oversize" and injection["data"]["size"] > bound.CONTRACT.max_bytes
    return bound.CONTRACT.oversize if grown else None


def changed_messages(events: Iterable[Event]) -> set[str]:
    """The messages of which a fault changed the bytes on their way."""
    return _ids(e for e in events if e.kind == "fault.injected" and e.fields["type"] in _CHANGES)


def _ids(events: Iterable[Event]) -> set[str]:
    return {event.fields["message_id"] for event in events}


def _place(event: Event) -> tuple[str, str]:
    return event.fields["shard"], event.fields["sequence_number"]


def _out_of_order(delivered: list[Event]) -> int:
    positions: dict[str, list[int]] = defaultdict(list)
    for event in delivered:
        if "sequence" in event.fields:
            positions[event.fields["sequence"]].append(event.fields["position"])
    return sum(came != sorted(came) for came in positions.values())


def _backlog(events: Iterable[Event]) -> int:
    waiting: set[str] = set()
    most = 0
    for event in events:
        if event.kind == "message.acknowledged" and event.fields["channel"] == INPUT:
            waiting.add(event.fields["message_id"])
        elif event.kind == "message.processed":
            waiting.discard(event.fields["message_id"])
        most = max(most, len(waiting))
    return most


def _lag(acknowledged: list[Event], processed: list[Event]) -> float:
    taken: dict[str, float] = {}
    for event in acknowledged:
        taken.setdefault(event.fields["message_id"], event.time)
    lags = (
        event.fields["at"] - taken[event.fields["message_id"]]
        for event in processed
        if event.fields["message_id"] in taken
    )
    return round(max(lags, default=0.0), 3)


_WORK: Final = ("message.acknowledged", "message.delivered", "message.processed", "message.rejected")


def _took(played: Played) -> float:
    last = max((event.time for event in played.events if event.kind in _WORK), default=played.began)
    return round(last - played.began, 3)
