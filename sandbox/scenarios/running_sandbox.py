"""Playing a scenario in a sandbox that runs already: by its ports, and with faults by its control API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from emulator.channels.kind_registry import KINDS
from emulator.channels.kinds import Broker
from emulator.clock import Clock
from emulator.events import Events
from emulator.rng import Chance
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.events import Event
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.receiver.originals import S3Originals
from sandbox.scenarios.backend import BROKER_SECONDS
from sandbox.scenarios.client_environment import ClientEnvironment
from sandbox.scenarios.play import Played, ProcessTurns, failing, place_faults
from sandbox.scenarios.scenario import INPUT, Scenario
from sandbox.scenarios.scenario_client import OURS
from sandbox.scenarios.workload import Offered

_MOST_EVENTS = 1_000_000


@dataclass(frozen=True, slots=True)
class ScenarioSandbox:
    """The AWS endpoint, the control API and the URL of the AMQP broker of a sandbox."""

    aws: AwsEndpoint
    control: Client
    amqp: str = ""

    def events(self, last: int) -> Iterator[Event]:
        """Yield every event with an id above ``last``."""
        while page := self.control.events(after=last):
            yield from page
            last = page[-1].id


def play_in(
    sandbox: ScenarioSandbox,
    scenario: Scenario,
    messages: tuple[Offered, ...],
    folder: Path,
    clock: Clock,
    *,
    seed: int,
    kind: str = "kinesis",
    events: Events | None = None,
) -> Played:
    """Play a scenario with these messages; ``clock`` is that of its clients, and ``folder`` has their state.

    What the clients do is emitted to ``events``. Raises ``UnreachableError`` when the sandbox is gone.
    """
    control, declared = sandbox.control, KINDS[kind]
    events = events or Events(clock, keep=_MOST_EVENTS)
    began, since = clock.time(), control.last_event()
    address = sandbox.aws.url if declared.broker == "aws" else sandbox.amqp
    broker = Broker(address, sandbox.aws.region, token=sandbox.aws.token)
    with closing(declared.connect(broker, clock)) as queues:
        environment = ClientEnvironment(
            folder,
            clock,
            events,
            new_id=Chance(seed).draws("scenario", "parts").uuid4,
            takes=0.0,
            channels=queues.channel,
            originals=S3Originals(sandbox.aws.s3()),
            failing=failing(messages),
        )
        added = [control.add_fault(fault) for fault in place_faults(scenario, messages, kind)]
        try:
            ProcessTurns(scenario, environment, OURS, BROKER_SECONDS, began).run(messages)
        finally:
            environment.close()
    for fault in added:
        control.remove_fault(fault.name)
    injected = (event for event in sandbox.events(since) if event.kind == "fault.injected")
    found = (*events.since(0, _MOST_EVENTS), *injected)
    shards = tuple(control.stream(INPUT).shards) if declared.streams else ()
    return Played(messages, found, shards, began=began)
