"""What must be the same in every profile: which messages a seed strikes.

The suites of the channels, of the faults and of the streams run in every profile where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from emulator.channels.channel import Receipt
from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.kinesis import Engine
from emulator.rng import Chance
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import NewFault
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.emulator.profile_broker import ProfileBroker
from tests.profile_sandboxes import SEED, in_profiles, use_sandbox

WAIT = 20.0
FIFTY = [(serialise(message), "k") for message in Samples(SEED).stream(50)]


@pytest.fixture(params=in_profiles("kinesis"))
def broker(request: pytest.FixtureRequest) -> Iterator[ProfileBroker]:
    """Kinesis as a client of each profile has it."""
    profile, _, kind = request.param.partition(" ")
    with use_sandbox(profile, request) as sandbox:
        found = ProfileBroker(sandbox, kind)
        yield found
        found.close()


def test_a_seed_strikes_the_same_messages_everywhere(broker: ProfileBroker) -> None:
    """The same of fifty, whatever is behind the faults; and what is behind has them all."""
    broker.create()
    channel = broker.open()
    broker.fault("duplicate", name="seeded", direction="publish", toxicity=0.2)
    outcomes = channel.publish_many(FIFTY)
    expected = struck_in_memory()
    assert len(expected) > 3
    assert struck(broker.injections()) == expected
    # An upstream may refuse an entry for a reason of its own, such as its throughput.
    taken = [data for (data, _), outcome in zip(FIFTY, outcomes, strict=True) if isinstance(outcome, Receipt)]
    found: set[bytes] = set()
    while not found >= set(taken):
        more = channel.read(limit=1000, wait=WAIT)
        assert more, f"{set(taken) - found} did not come"
        found |= {each.data for each in more}


def struck(injections: Iterable[Event]) -> set[str]:
    """The messages that were struck, by their ids."""
    return {event.fields["message_id"] for event in injections}


def struck_in_memory() -> set[str]:
    """Which of the fifty the seed strikes, with nothing but an engine behind the faults."""
    clock = Clock()
    events = Events(clock)
    fault_engine = FaultEngine(Chance(SEED), clock, events)
    engine = Engine(None, clock, events)
    engine.call("CreateStream", {"StreamName": "input", "ShardCount": 1}, DEFAULT_SCOPE)
    fault_engine.add(NewFault("duplicate", name="seeded", channel="input", direction="publish", toxicity=0.2))
    MemoryChannel(engine, "input", clock=clock, fault_engine=fault_engine).publish_many(FIFTY)
    fault_engine.close()
    engine.close()
    return struck(event for event in events.since(0, events.last) if event.kind == "fault.injected")
