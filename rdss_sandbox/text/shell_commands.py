"""Shell commands that do the same as an action on a screen: the TUI and the watch page show them."""

from __future__ import annotations

import shlex

from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import FaultType, NewFault
from rdss_sandbox.shapes.messages import Redrive, WantedSamples
from rdss_sandbox.shapes.queues import PROJECT, NewClaim
from rdss_sandbox.shapes.scenarios import NewRun
from rdss_sandbox.shapes.streams import Reshard
from rdss_sandbox.text.durations import write_duration
from rdss_sandbox.text.timestamps import LATEST, timestamp

_OF_EVERY_FAULT = frozenset(
    {"name", "channel", "direction", "toxicity", "limit"}
    | {"at", "for", "after", "first", "every", "fails", "match"}
)


def option_name(type_: str, attribute: str) -> str:
    """The option for an attribute of a fault, with the type's name where every fault has that option."""
    flag = attribute.replace("_", "-")
    return f"--{type_}-{flag}" if attribute in _OF_EVERY_FAULT else f"--{flag}"


def add_fault(fault: NewFault, type_: FaultType | None) -> str:
    """``sandbox fault add …`` with the values that differ from the type's defaults."""
    usual = type_.directions[0] if type_ else None
    words = ["fault", "add", fault.type]
    for name in ("name", "channel", "direction", "toxicity", "limit"):
        value = getattr(fault, name)
        if value is not None and not (name == "direction" and value == usual):
            words += [f"--{name}", _text(value)]
    for name, value in fault.attributes.items():
        words += [option_name(fault.type, name), _text(value)]
    for name, value in fault.when.items():
        if name == "match" and isinstance(value, dict):
            words += [word for field, glob in value.items() for word in ("--match", f"{field}={glob}")]
        elif value is not None:
            words += [f"--{name}", _text(value)]
    return _write(*words)


def remove_fault(name: str) -> str:
    return _write("fault", "remove", name)


def reshard(name: str, change: Reshard) -> str:
    shards = (shard for shard in (change.shard, change.adjacent) if shard)
    count = [str(change.count)] if change.action == "scale" else []
    at = ["--at", change.hash_key] if change.hash_key else []
    return _write("reshard", change.action, name, *shards, *count, *at)


def change_clock(change: ClockChange) -> str:
    match change.action:
        case "advance":
            return _write("clock", "advance", write_duration(change.seconds or 0.0))
        case "speed":
            return _write("clock", "speed", _text(change.speed or 0.0))
        case "set":
            moment = change.time or 0.0
            is_date = 0 <= moment <= LATEST
            return _write(
                "clock", "set", timestamp(moment).replace(".000Z", "Z") if is_date else _text(moment)
            )
    return _write("clock", change.action)


def send_samples(wanted: WantedSamples) -> str:
    words = ["--count", str(wanted.count)]
    for name, value in (("seed", wanted.seed), ("parts", wanted.parts), ("bad", wanted.bad)):
        if value is not None:
            words += [f"--{name}", str(value)]
    return f"{_write('message', 'sample', *words)} | {_write('send', '-', '--channel', wanted.stream)}"


def redrive(message: int | str, again: Redrive) -> str:
    to = ["--to", again.stream] if again.stream else []
    if again.data is None:
        return _write("redrive", str(message), *to)
    edited = shlex.join(["printf", "%s", again.data.decode(errors="replace")])
    return f"{edited} | {_write('redrive', str(message), *to, '--edited', '-')}"


def claim(project: str, queue: str, new: NewClaim) -> str:
    usual = NewClaim(new.client)
    words = ["--worker", new.client, "--limit", str(new.limit)]
    words += ["--ttl", str(new.ttl)] if new.ttl != usual.ttl else []
    words += ["--grace", str(new.grace)] if new.grace != usual.grace else []
    return _write("claim", "take", queue, *words, *_of_project(project))


def release(project: str, queue: str, claim: str) -> str:
    return _write("claim", "release", queue, claim, *_of_project(project))


def begin_run(run: NewRun) -> str:
    seed = [] if run.seed is None else ["--seed", str(run.seed)]
    channel = [] if run.channel == "memory" else ["--channel", run.channel]
    return _write("scenario", "run", run.scenario, *seed, *channel)


def save_snapshot(name: str) -> str:
    return _write("snapshot", "save", name)


def load_snapshot(name: str) -> str:
    return _write("snapshot", "load", name)


def remove_snapshot(name: str) -> str:
    return _write("snapshot", "remove", name)


def _of_project(project: str) -> list[str]:
    return [] if project == PROJECT else ["--project", project]


def _write(*words: str) -> str:
    return shlex.join(["sandbox", *words])


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)
