"""A demonstration from its first message to its verdict: two scenarios in a running sandbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.events import Event
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.demo.archive_contents import read_archives
from sandbox.demo.demo_verdict import Leg, Result, judge
from sandbox.scenarios.expectation import split
from sandbox.scenarios.facts import compute_facts
from sandbox.scenarios.jumping_clock import JumpingClock
from sandbox.scenarios.play import Played, offer
from sandbox.scenarios.running_sandbox import ScenarioSandbox, play_in
from sandbox.scenarios.scenario import Scenario, read_scenario
from sandbox.scenarios.workload import Offered, due_in_batches
from schemas.json_texts import documents
from schemas.rdss.contract import RDSS

PATIENCE_SECONDS: Final = 120.0
"""The seconds without progress after which an incomplete audit log is judged as it is."""
_POLL_SECONDS: Final = 0.1
_MOST_EVENTS: Final = 1_000_000

Progress = Callable[[str, float], None]
"""Called with the present activity and the finished share of it, 0 to 1."""
Pipeline = Callable[[AwsEndpoint, Path, Progress], Mapping[str, int]]
"""Writes tables from an AWS endpoint to a folder and returns the number of rows of each table."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The scenarios for a stream and for a queue; ``source`` has messages to send in place of theirs."""

    seed: int
    stream: Scenario
    queue: Scenario
    source: Path | None = None


def make_plan(seed: int, source: Path | None = None) -> Plan:
    """The plan of ``sandbox demo``; of the messages of files, none grows, and nothing fails on purpose."""
    room = files("sandbox.demo")
    stream, queue = (
        read_scenario(name, (room / name).read_text(encoding="utf-8"))
        for name in ("stream.yaml", "queue.yaml")
    )
    if source is not None:
        stream, queue = (
            msgspec.structs.replace(
                each, failures=(), faults=tuple(fault for fault in each.faults if fault.type != "oversize")
            )
            for each in (stream, queue)
        )
    return Plan(seed, stream, queue, source)


@dataclass(frozen=True, slots=True)
class DemoTarget:
    """The emulator's AWS endpoint and control API, and the folder for the results.

    ``token`` is the bearer token of a control API that listens beyond loopback. Without ``amqp``, the URL of
    a broker, everything goes through Kinesis.
    """

    aws: AwsEndpoint
    control: str
    folder: Path
    token: str | None = None
    amqp: str | None = None


def demonstrate(
    plan: Plan, place: DemoTarget, progress: Progress, pipeline: Pipeline | None = None
) -> Result:
    """Send messages through faults, receive them, read back the outcome and judge it.

    Raises ``UnusableFileError`` for the plan's source, and ``UnreachableError`` or
    ``ChannelUnavailableError`` when the emulator is gone.
    """
    with Client(place.control, token=place.token) as control:
        sandbox = ScenarioSandbox(place.aws, control, place.amqp or "")
        runs = [("kinesis", _play(sandbox, plan, "kinesis", place.folder, progress))]
        if place.amqp is not None:
            runs.append(("rabbitmq", _play(sandbox, plan, "rabbitmq", place.folder / "amqp", progress)))
        _wait_for_audit(control, progress)
        progress("reading everything back", 0.0)
        stream, *queue = (
            Leg(scenario, compute_facts(played), read_archives(place.aws, kind, played), _reshards(played))
            for kind, (scenario, played) in runs
        )
        tables = _tables(pipeline, place, progress) if pipeline else None
    return judge(plan.seed, stream, tables, queue[0] if queue else None)


def _play(
    sandbox: ScenarioSandbox, plan: Plan, kind: str, folder: Path, progress: Progress
) -> tuple[Scenario, Played]:
    """Play the scenario for a kind of channel, with its own state in ``folder``."""
    folder.mkdir(exist_ok=True)
    clock, streams = JumpingClock(), kind == "kinesis"
    scenario, seed = (plan.stream, plan.seed) if streams else (plan.queue, plan.seed + 1)
    messages = _make_messages(plan, scenario, seed, clock)
    scenario = spread_reshards(scenario, sum(len(split(each.data)) for each in messages))
    events = Events(clock, keep=_MOST_EVENTS)
    offered = 0

    def tell(event: Event) -> None:
        nonlocal offered
        if event.kind == "message.offered":
            offered += 1
            progress("sending, receiving and breaking things", offered / len(messages))

    with events.subscribed(tell):
        return scenario, play_in(
            sandbox, scenario, messages, folder, clock, seed=seed, kind=kind, events=events
        )


def _make_messages(plan: Plan, scenario: Scenario, seed: int, clock: Clock) -> tuple[Offered, ...]:
    if plan.source is None:
        return offer(scenario, seed, clock.time())
    return tuple(due_in_batches(read_messages(plan.source, seed, clock.time()), scenario.workload))


def spread_reshards(scenario: Scenario, total: int) -> Scenario:
    """The scenario with its changes of shards spread evenly over so many messages."""
    reshards = [fault for fault in scenario.faults if fault.type == "reshard"]
    spread = {
        fault.name: msgspec.structs.replace(
            fault, when=fault.when | {"after": at * total // (len(reshards) + 1)}
        )
        for at, fault in enumerate(reshards, start=1)
    }
    return msgspec.structs.replace(
        scenario, faults=tuple(spread.get(fault.name, fault) for fault in scenario.faults)
    )


def _reshards(played: Played) -> Counter[str]:
    """The changes of shards that faults made, by action."""
    return Counter(
        str(event.fields["data"]["action"])
        for event in played.events
        if event.kind == "fault.injected" and event.fields["type"] == "reshard"
    )


def _wait_for_audit(control: Client, progress: Progress) -> None:
    progress("waiting for the audit log", 0.0)
    clock = Clock()
    deadline = clock.elapsed() + PATIENCE_SECONDS
    found = control.audit_status()
    while found.pending and clock.elapsed() < deadline:
        clock.wait(_POLL_SECONDS)
        before, found = found, control.audit_status()
        # What is copied to the audit stream comes to the bucket in one piece, on a busy machine much later.
        if found != before:
            deadline = clock.elapsed() + PATIENCE_SECONDS


def _tables(pipeline: Pipeline, place: DemoTarget, progress: Progress) -> Mapping[str, int] | Exception:
    try:
        return pipeline(place.aws, place.folder / "tables", progress)
    except Exception as error:  # noqa: BLE001 -- a pipeline that fails is a line of the verdict
        (place.folder / "pipeline-failure.txt").write_text(str(error), encoding="utf-8")
        return error


_SUFFIXES: Final = frozenset({".json", ".ndjson", ".jsonl"})


class UnusableFileError(ValueError):
    """A file that cannot be read, or has an oversize message that cannot be split."""


def read_messages(directory: Path, seed: int, now: float) -> list[bytes]:
    """Read the messages in the files of a directory; equal messages are read once.

    What is less than a message gets a counterpart, made from the seed; ``now`` is in seconds since the epoch.
    Raises ``UnusableFileError``.
    """
    if not directory.is_dir():
        raise UnusableFileError(f"{directory} is not a directory; give one that holds messages as JSON")
    read: dict[bytes, None] = {}
    for path in sorted(path for path in directory.rglob("*") if path.suffix in _SUFFIXES):
        try:
            found = list(documents(str(path), path.read_bytes().splitlines(keepends=True)))
        except OSError as error:
            raise UnusableFileError(f"{path} cannot be read: {error.strerror}") from error
        for number, document in enumerate(found, start=len(read)):
            data = RDSS.documents.complete(document.raw, seed=seed + number, now=now)
            try:
                split(data)
            except ValueError as error:
                why = f"{document.place} has {len(data):,} bytes and cannot be split: {error}"
                raise UnusableFileError(why) from error
            read[data] = None
    if not read:
        raise UnusableFileError(f"{directory} holds no message in {', '.join(sorted(_SUFFIXES))} files")
    return list(read)
