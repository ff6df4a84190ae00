"""The facts of a run: named numbers, computed from its events and from the shards at its end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Final

from rdss_sandbox.shapes.events import Event
from sandbox.judging.arrivals import body_digest
from sandbox.scenarios.play import START, Played
from sandbox.scenarios.scenario import INPUT
from sandbox.scenarios.workload import identity
from schemas import bound
from schemas.contract import judge_sent

Facts = dict[str, float]
Culprits = dict[str, frozenset[str]]
"""The messageIds behind each fact of the contract."""

MEANINGS: Final = {
    "offered": "messages that the application offered to be sent",
    "acknowledged": "different messages that the broker took, the parts of a sequence one by one",
    "refused": "times that the broker did not take a message, or did not say so",
    "delivered": "times that the broker gave a message to the receiver",
    "redelivered": "deliveries with a sequence number that was delivered before",
    "repeated": "deliveries with a messageId that was delivered before",
    "processed": "different messages that the application processed",
    "joined": "messages that came in parts, and were processed in one",
    "twice": "messages that the application processed more than once",
    "lost": "messages that are neither processed nor in a queue",
    "altered": "messages processed with a body that is not the one sent, byte for byte",
    "misjudged": "messages in a queue, or processed, that do not belong there",
    "rejected": "messages in the error and invalid queues; rejected.CODE those of one code",
    "kept": "rejected messages kept whole in a bucket, because the decorated one cannot hold them",
    "out_of_order": "sequences whose parts did not come in order",
    "claims": "times that a worker claimed messages",
    "expired": "claims that expired with messages in them",
    "crashes": "times that the receiving process ended before its work was done",
    "ended": "times that a command of --client ended by itself; it must be 0",
    "backlog": "the most messages that waited for the receiver at once",
    "lag": "the longest time from the broker's yes to the end of processing, in seconds",
    "took": "the time from the first message to the last thing that was done, in seconds",
    "shards": "open shards at the end",
    "closed_shards": "closed shards at the end",
    "injected": "times that a fault struck; injected.NAME one of them",
}
CONTRACT: Final = {"lost": 0, "twice": 0, "altered": 0, "misjudged": 0}
"""The facts that must hold in every scenario, without being in its file."""


def compute_facts(played: Played) -> Facts:
    """Compute every fact of ``MEANINGS``, and those of the single codes and faults that occurred."""
    by_kind: dict[str, list[Event]] = defaultdict(list)
    for event in played.events:
        by_kind[event.kind].append(event)
    delivered = [event for event in by_kind["message.delivered"] if event.fields["channel"] == INPUT]
    acknowledged = [event for event in by_kind["message.acknowledged"] if event.fields["channel"] == INPUT]
    counts = {
        "offered": len(played.offered),
        "acknowledged": len(_ids(acknowledged)),
        "refused": sum(event.fields["channel"] == INPUT for event in by_kind["message.refused"]),
        "delivered": len(delivered),
        "redelivered": len(delivered) - len({_place(event) for event in delivered}),
        "repeated": len(delivered) - len(_ids(delivered)),
        "out_of_order": _out_of_order(delivered),
        "crashes": len(by_kind["receiver.crashed"]) + len(by_kind["receiver.failed"]),
        "claims": len(by_kind["queue.claimed"]),
        "expired": sum(bool(event.fields["messages"]) for event in by_kind["queue.claim_expired"]),
        "kept": len(by_kind["original.kept"]),
        "backlog": _backlog(played.events),
        "lag": _lag(acknowledged, by_kind["message.processed"]),
        "took": _took(played.events),
        "shards": sum(shard.open for shard in played.shards),
        "closed_shards": sum(not shard.open for shard in played.shards),
    }
    injected = Counter(event.fields["fault"] for event in by_kind["fault.injected"])
    counts |= {"injected": injected.total()} | {f"injected.{name}": n for name, n in sorted(injected.items())}
    return counts | _outcomes(played, by_kind, delivered)


def _outcomes(played: Played, by_kind: dict[str, list[Event]], delivered: list[Event]) -> Facts:
    """Compare the outcome of each message with the one that it had to have."""
    codes = _expected_codes(played, by_kind["fault.injected"], delivered)
    valid = [each.data for each in played.offered if codes[id(each)] is None]
    wanted = {identity(data): body_digest(data) for data in valid}
    expected = Counter(code for code in codes.values() if code is not None)
    processed = by_kind["message.processed"]
    times = Counter(event.fields["message_id"] for event in processed)
    rejected = Counter(str(event.fields["code"]) for event in by_kind["message.rejected"])
    return {
        "processed": len(times),
        "joined": len({event.fields["message_id"] for event in processed if event.fields["parts"] > 1}),
        "twice": sum(count > 1 for count in times.values()),
        "lost": len(wanted.keys() - times.keys()) + (expected - rejected).total(),
        "altered": sum(
            event.fields["body"] not in {None, wanted.get(event.fields["message_id"], event.fields["body"])}
            for event in processed
        ),
        "misjudged": len(times.keys() - wanted.keys()) + (rejected - expected).total(),
        "rejected": rejected.total(),
        **{f"rejected.{code}": count for code, count in sorted(rejected.items())},
    }


def find_culprits(played: Played) -> Culprits:
    """Find the messages that are lost, processed twice, altered or misjudged."""
    by_kind: dict[str, list[Event]] = defaultdict(list)
    for event in played.events:
        by_kind[event.kind].append(event)
    delivered = [event for event in by_kind["message.delivered"] if event.fields["channel"] == INPUT]
    codes = _expected_codes(played, by_kind["fault.injected"], delivered)
    wanted = {
        identity(each.data): body_digest(each.data) for each in played.offered if codes[id(each)] is None
    }
    bad = {identity(each.data): code for each in played.offered if (code := codes[id(each)]) is not None}
    bodies = {event.fields["message_id"]: event.fields["body"] for event in by_kind["message.processed"]}
    rejected = {
        event.fields["message_id"]: str(event.fields["code"]) for event in by_kind["message.rejected"]
    }
    # The names of unreadable messages change when they are decorated: their codes are counted.
    missing = Counter(bad.values()) - Counter(rejected.values())
    times = Counter(event.fields["message_id"] for event in by_kind["message.processed"])
    return {
        "lost": frozenset(wanted.keys() - times.keys())
        | {name for name, code in bad.items() if missing[code] and rejected.get(name) != code},
        "twice": frozenset(name for name, count in times.items() if count > 1),
        "altered": frozenset(
            name for name in bodies.keys() & wanted.keys() if bodies[name] not in {None, wanted[name]}
        ),
        "misjudged": frozenset(times.keys() - wanted.keys())
        | {name for name, code in rejected.items() if name in wanted or bad.get(name, code) != code},
    }


def _expected_codes(
    played: Played, injections: Iterable[Event], delivered: list[Event]
) -> dict[int, str | None]:
    """The error code that each offered message must get, by the faults' changes and its arrival time."""
    spoiled = {event.fields["message_id"]: code for event in injections if (code := _spoils(event.fields))}
    came: dict[str, float] = {}
    for event in delivered:
        came.setdefault(event.fields["message_id"], event.time)
    came |= played.judged_at
    judge = judge_sent(bound.CONTRACT)
    found: dict[int, str | None] = {}
    for each in played.offered:
        name = identity(each.data)
        now = came.get(name, START + each.due)
        found[id(each)] = spoiled.get(name) or judge(each.data, now=now).code
    return found


def _spoils(injection: dict[str, Any]) -> str | None:
    """The error code that a message must get because of an injection."""
    if injection["type"] == "mutate":
        return str(injection["data"]["code"])
    grown = injection["type"] == "oversize" and injection["data"]["size"] > bound.CONTRACT.max_bytes
    return bound.CONTRACT.oversize if grown else None


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


def _took(events: Iterable[Event]) -> float:
    return round(max((event.time for event in events if event.kind in _WORK), default=START) - START, 3)
