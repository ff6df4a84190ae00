"""Playing a scenario against a command: our gateway sends, and a client of the user receives.

    gateway ──▶ stream ──▶ AWS port ──▶ [recorder] ──▶ COMMAND ──▶ lines on its standard output
                                           └────────▶ events ◀────────┘

The command works in real time. Between its turns the sandbox's clock jumps to what is due next, as soon as
the command has done all that it was given, or is silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from emulator.channels.kind_registry import MemoryQueues
from emulator.channels.kinds import Broker
from emulator.faults.fault import FaultRefusedError
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.topology import Topology
from rdss_sandbox.text.durations import seconds
from sandbox.certify.attempt import Attempt
from sandbox.certify.attempt import Client as Command
from sandbox.certify.clause import Group
from sandbox.certify.history import History, Level
from sandbox.certify.lab import ERROR, INVALID, OUTPUT, Lab
from sandbox.certify.stages import Stage
from sandbox.receiver.assembled_receiver import BUCKETS
from sandbox.scenarios.backend import ScenarioBackend
from sandbox.scenarios.command_messages import CommandMessages
from sandbox.scenarios.command_receiver import CommandProcess, CommandReceiver
from sandbox.scenarios.jumping_clock import JumpingClock
from sandbox.scenarios.play import (
    START,
    Played,
    ProcessTurns,
    UnplayableError,
    input_shards,
    open_environment,
)
from sandbox.scenarios.scenario import INPUT, Scenario, Workload, explain_missing_ids
from sandbox.scenarios.scenario_client import Client, OurSender
from sandbox.scenarios.workload import Offered, make_messages
from schemas.bound import CONTRACT

_EXPIRES_SECONDS: Final = 5.0
"""How long a message that expires is valid for a command, in real seconds, whatever the scenario says."""


@dataclass(frozen=True, slots=True)
class CommandRun:
    """What came of a run against a command: the run, as of any client, and the history of the command."""

    played: Played
    history: History


def find_obstacle(scenario: Scenario) -> str:
    """Say why a scenario cannot be played against a command; empty when it can."""
    if scenario.consumer.claims is not None:
        return (
            f"{scenario.name} cannot be played against a command: its messages are claimed by "
            f"{scenario.consumer.claims.workers} workers from a queue, and a command reads the stream"
        )
    if scenario.failures:
        return f"{scenario.name} cannot be played against a command: its failures are of our applications"
    if why := explain_missing_ids(CONTRACT.without_headers):
        return f"{scenario.name} cannot be played against a command, which reads a stream: {why}"
    unknown = sorted(
        target
        for fault in scenario.faults
        if (target := str(fault.attributes.get("target", "")))
        and target not in {"receiver", "receiver-before-work", "receiver-after-work"}
    )
    if unknown:
        return (
            f"{scenario.name} cannot be played against a command: a fault strikes the process "
            f"{unknown[0]}, which is not there"
        )
    return ""


def play_command(scenario: Scenario, command: Command, folder: Path, *, seed: int) -> CommandRun:
    """Play a scenario against a command until nothing happens any more.

    Raises ``UnplayableError``, and ``ClientNotStartedError`` for a command that cannot be started.
    """
    if why := find_obstacle(scenario):
        raise UnplayableError(why)
    clock, lab = JumpingClock(), Lab(seed)
    came = CommandMessages(lab)
    state = folder / "state"
    state.mkdir()
    try:
        with (
            _open_backend(scenario, lab, clock) as backend,
            open_environment(scenario, folder, seed, backend, clock) as environment,
            Attempt(command, lab, state) as attempt,
            lab.watching(came.note_item),
        ):
            engine = backend.components.fault_engine
            environment.receiver = CommandProcess(attempt=attempt)
            engine.add_target(environment.receiver.name, environment.receiver)
            receiver = CommandReceiver(
                came, attempt, environment, command.patience, slow=seconds(scenario.consumer.takes) > 0
            )
            attempt.enter(Stage(scenario.name, Level.BRONZE, Group.DELIVERY, "", 0))
            attempt.start()
            with lab.watching(receiver.catch), closing(receiver):
                reads = receiver.wait_until_reading()
                start = clock.time()
                messages = _make_messages(scenario.workload, seed, clock, start)
                for fault in scenario.faults:
                    engine.add(fault)
                if reads:
                    receiver.expect(len(messages))
                    clock.on_move = engine.run_due
                    engine.run_due()
                    client = Client(OurSender, lambda _environment: receiver)
                    ProcessTurns(scenario, environment, client, start=start).run(messages)
            lab.settle_history()
            events = backend.components.events
            happenings = tuple(_on_the_scenarios_clock(each, start) for each in events.since(0, events.last))
            played = Played(messages, happenings, tuple(input_shards(backend)), came.judged_at)
            return CommandRun(played, lab.history)
    except FaultRefusedError as error:
        raise UnplayableError(str(error)) from error


@contextmanager
def _open_backend(scenario: Scenario, lab: Lab, clock: JumpingClock) -> Iterator[ScenarioBackend]:
    """Start an emulator for the command on free ports; our own side has the streams in this process."""
    streams = scenario.streams
    topology = Topology(
        {INPUT: streams.input, OUTPUT: 1, ERROR: streams.error, INVALID: streams.invalid},
        buckets=tuple(BUCKETS.values()),
    )
    settings = Settings(
        data_dir=None,
        aws_port=0,
        control_port=0,
        seed=lab.seed,
        topology=topology,
        region="us-east-1",
        amqp="none",
    )
    with lab.recording(settings, clock) as emulator:
        components = emulator.components
        components.fault_engine.note_channel(INPUT, "kinesis")
        broker = Broker("", settings.region, fault_engine=components.fault_engine, streams=components.streams)
        yield ScenarioBackend(components, MemoryQueues(broker, clock).channel, 0.0, emulator.control)


def _make_messages(workload: Workload, seed: int, clock: JumpingClock, start: float) -> tuple[Offered, ...]:
    """Make the messages. What expires does so on the machine's clock, which is the command's."""
    if workload.expiring:
        clock.hold_before(start + seconds(workload.expires), start + _EXPIRES_SECONDS)
        workload = msgspec.structs.replace(workload, expires=_EXPIRES_SECONDS)
    return tuple(make_messages(workload, seed, start))


def _on_the_scenarios_clock(event: Event, start: float) -> Event:
    """The event at the time that the scenario's clock shows; what was before the first message is at 0."""
    fields = event.fields
    if event.kind == "message.processed":
        fields = fields | {"at": round(max(fields["at"] - start, 0.0) + START, 6)}
    return msgspec.structs.replace(event, time=round(max(event.time - start, 0.0) + START, 6), fields=fields)
