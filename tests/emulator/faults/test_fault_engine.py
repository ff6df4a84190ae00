"""Whom the faults strike: conditions, counts, refusals, and the same again every time."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from emulator.channels.channel import ChannelUnavailableError
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault import CARRIERS, Call, FaultRefusedError
from emulator.faults.fault_engine import MOST_FAULTS, FaultEngine, UnknownFaultError
from emulator.faults.faulted_message import Message
from emulator.faults.registry import TYPES, list_own_types
from emulator.rng import Chance, Draws
from rdss_sandbox.shapes.faults import FaultChange, NewFault
from schemas.contract import Contract
from schemas.rdss.contract import RDSS
from tests.contracts import CONTRACTS, NAMES, spell

if TYPE_CHECKING:
    from tests.emulator.faulted_brokers import Broker

NOON = 1_790_000_000.0
Injections = list[tuple[str, str | None, str]]


def message(number: int, type_: str = "MetadataCreate", tenant: int = 1) -> bytes:
    header = {
        "messageId": f"00000000-0000-4000-8000-{number:012d}",
        "messageType": type_,
        "messageClass": "Command",
        "tenantJiscID": tenant,
        "generator": "test",
    }
    return json.dumps({"messageHeader": header, "messageBody": {"objectTitle": f"title {number}"}}).encode()


MESSAGES = [message(number) for number in range(60)]


OF_BOTH = pytest.mark.parametrize("contract", CONTRACTS, ids=NAMES)
PARCELS_BY_DATA = {b'{"event": "left", "depot": "%d"}' % n: f"p-{n:012d}" for n in range(60)}


class Bed:
    """A stage with nothing around it. ``messages`` have ids that end in their numbers."""

    def __init__(self, seed: int = 7, contract: Contract = RDSS) -> None:
        self.clock, self.contract = Clock(frozen_at=NOON), contract
        self.events = Events(self.clock, keep=200_000)
        self.fault_engine = FaultEngine(Chance(seed), self.clock, self.events, contract=contract)
        self.messages = MESSAGES if contract is RDSS else list(PARCELS_BY_DATA)
        self.id_field = spell(contract, "id")

    def add(self, type_: str, **fields: Any) -> str:
        return self.fault_engine.add(NewFault(type_, **fields)).name

    def publish(self, *messages: bytes, channel: str = "input", kind: str = "memory") -> Call:
        return self.fault_engine.plan_publish(
            channel, kind, [Message(data, PARCELS_BY_DATA.get(data, "k")) for data in messages]
        )

    def deliver(self, *messages: bytes, channel: str = "input", kind: str = "memory") -> Call:
        return self.fault_engine.plan_delivery(
            channel, kind, [Message(data, PARCELS_BY_DATA.get(data, "k"), NOON) for data in messages]
        )

    def struck(self, fault: str | None = None) -> list[int]:
        """The numbers of the messages struck, as often as they were."""
        ids = [i[1] for i in self.injections() if fault in {None, i[0]}]
        return [int(id_[-12:]) for id_ in ids if id_]

    def injections(self) -> Injections:
        events = [event for event in self.events.since(limit=200_000) if event.kind == "fault.injected"]
        return [(e.fields["fault"], e.fields["message_id"], e.fields["did"]) for e in events]


@pytest.fixture
def bed() -> Bed:
    return Bed()


@pytest.fixture(params=CONTRACTS, ids=NAMES)
def any_bed(request: pytest.FixtureRequest) -> Bed:
    """A stage for messages of each contract."""
    return Bed(contract=request.param)


@pytest.mark.parametrize(
    ("when", "struck"),
    [
        ({}, list(range(60))),
        ({"every": 20}, [19, 39, 59]),
        ({"first": 3}, [0, 1, 2]),
        ({"after": 57}, [57, 58, 59]),
        ({"after": 10, "first": 20, "every": 10}, [19, 29]),
        ({"match": {"id": "*000007"}}, [7]),
        ({"match": {"channel": "out*"}}, []),
        ({"match": {"id": "*", "channel": "in*"}, "first": 1}, [0]),
        ({"at": "10s"}, []),
        ({"for": 1}, list(range(60))),
    ],
)
def test_conditions_choose_the_messages(any_bed: Bed, when: dict[str, Any], struck: list[int]) -> None:
    """Counts count the messages that meet the other conditions, one at a time or in batches."""
    if match := when.get("match"):
        when = when | {"match": {any_bed.id_field if name == "id" else name: match[name] for name in match}}
    any_bed.add("duplicate", when=when)
    any_bed.publish(*any_bed.messages[:13])
    for data in any_bed.messages[13:20]:
        any_bed.publish(data)
    any_bed.publish(*any_bed.messages[20:])
    assert any_bed.struck() == struck


def test_a_window_of_time_opens_and_closes_on_the_clock(any_bed: Bed) -> None:
    """``at`` and ``for`` count from when the fault was added."""
    any_bed.add("duplicate", when={"at": "10s", "for": "5s"})
    for number in range(20):
        any_bed.publish(any_bed.messages[number])
        any_bed.clock.advance(1)
    assert any_bed.struck() == [10, 11, 12, 13, 14]


def test_a_limit_ends_a_fault(any_bed: Bed) -> None:
    """After so many injections it strikes nobody."""
    any_bed.add("duplicate", limit=4)
    any_bed.publish(*any_bed.messages)
    assert any_bed.struck() == [0, 1, 2, 3]
    assert any_bed.fault_engine.get("duplicate").injected == 4


def test_toxicity_is_the_share_of_messages_struck() -> None:
    """About one in five of ten thousand."""
    bed = Bed()
    bed.add("duplicate", toxicity=0.2)
    bed.publish(*(message(number) for number in range(10_000)))
    assert 1_880 < len(bed.struck()) < 2_120


def test_a_state_of_failures_is_for_each_message(any_bed: Bed) -> None:
    """``fails: 2`` with every other message: each of those fails twice, then passes for good."""
    any_bed.add("throttle", when={"every": 2, "fails": 2})
    for data in any_bed.messages[:4]:
        outcomes = [any_bed.publish(data).items[0].failure is not None for _ in range(4)]
        assert outcomes == ([True, True, False, False] if any_bed.messages.index(data) % 2 else [False] * 4)


def test_a_message_that_was_refused_meets_no_further_fault(any_bed: Bed) -> None:
    """What did not get through was not duplicated either; the others of its batch were."""
    any_bed.add("throttle", when={"match": {any_bed.id_field: "*1"}, "fails": 1})
    any_bed.add("duplicate")
    any_bed.publish(*any_bed.messages[:3])
    assert (any_bed.struck("throttle"), any_bed.struck("duplicate")) == ([1], [0, 2])
    any_bed.publish(any_bed.messages[1])
    assert any_bed.struck("duplicate") == [0, 2, 1]


def test_a_call_that_failed_meets_no_further_fault(any_bed: Bed) -> None:
    """Unless it took effect first: then its messages were written, and may have been duplicated."""
    any_bed.add("disconnect", when={"fails": 1})
    any_bed.add("duplicate")
    any_bed.publish(any_bed.messages[0])
    assert any_bed.struck("duplicate") == []
    any_bed.fault_engine.change("disconnect", FaultChange(attributes={"written": True}))
    call = any_bed.publish(any_bed.messages[1])
    assert call.failure is not None
    assert call.items[0].copies == 1


def test_a_message_that_was_spared_stays_spared_when_it_comes_again(any_bed: Bed) -> None:
    """And one that was struck passes sooner or later: chance keeps no message out for ever."""
    any_bed.add("throttle", toxicity=0.5)
    spared = [data for data in any_bed.messages if any_bed.publish(data).items[0].failure is None]
    assert 15 < len(spared) < 45
    assert all(any_bed.publish(data).items[0].failure is None for data in spared)
    rest = [data for data in any_bed.messages if data not in spared]
    for _ in range(40):
        rest = [data for data in rest if any_bed.publish(data).items[0].failure]
    assert rest == []


def test_equal_payloads_that_are_no_messages_are_told_apart(any_bed: Bed) -> None:
    """By how many of the same came before, so that half of them is half of them."""
    any_bed.add("duplicate", toxicity=0.5)
    any_bed.publish(*[b"hello"] * 200)
    assert 70 < any_bed.fault_engine.get("duplicate").injected < 130


def test_a_disabled_fault_strikes_nobody_until_it_is_enabled(any_bed: Bed) -> None:
    """PATCH changes what is given and keeps the rest, the count and the memory included."""
    any_bed.add("duplicate", attributes={"copies": 3}, when={"first": 2})
    any_bed.fault_engine.change("duplicate", FaultChange(enabled=False))
    any_bed.publish(any_bed.messages[0])
    any_bed.fault_engine.change("duplicate", FaultChange(enabled=True, attributes={"distance": 2}))
    any_bed.publish(*any_bed.messages[:5])
    assert any_bed.struck() == [0, 1]
    fault = any_bed.fault_engine.change("duplicate", FaultChange(limit=9))
    assert (fault.attributes, fault.injected, fault.limit) == ({"copies": 3, "distance": 2}, 2, 9)


def test_every_injection_is_an_event_with_what_was_done(any_bed: Bed) -> None:
    """Fault, type, channel, direction, message, words and data."""
    any_bed.add("duplicate", name="twice", channel="memory:in*", attributes={"copies": 2})
    any_bed.publish(data := any_bed.messages[4])
    (event,) = [event for event in any_bed.events.since() if event.kind == "fault.injected"]
    assert event.fields == {
        "fault": "twice",
        "type": "duplicate",
        "channel": "input",
        "direction": "publish",
        "message_id": any_bed.contract.peek(data, PARCELS_BY_DATA.get(data, "")).message_id,
        "did": "put 3 times, as by a producer that retries",
        "data": {"copies": 2},
    }


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"type": "duplicat"}, "no fault type 'duplicat'; there are reshard, duplicate"),
        ({"direction": "control"}, "duplicate has no direction 'control'; it has publish, deliver"),
        ({"toxicity": 1.5}, "toxicity is 1.5: give a probability from 0 to 1"),
        ({"limit": -1}, "limit is -1"),
        ({"attributes": {"copys": 1}}, "duplicate has no attribute 'copys'; it has copies, distance"),
        ({"attributes": {"copies": 0}}, "attribute copies is 0: give a number from 1"),
        ({"attributes": {"copies": "many"}}, "attribute copies is 'many': give a number"),
        ({"attributes": {"copies": 1.5}}, "give a whole number"),
        ({"attributes": {"copies": True}}, "give a number"),
        ({"type": "latency", "attributes": {"delay": "soon"}}, "'soon' is not a length of time"),
        ({"type": "latency", "attributes": {"distribution": "odd"}}, "give one of constant, uniform"),
        ({"type": "latency", "attributes": {"on": "record"}}, "its direction is deliver"),
        ({"type": "latency", "attributes": {"distribution": "pareto", "shape": 0}}, "give a number above 0"),
        ({"type": "error", "attributes": {"written": "maybe"}}, "give true or false"),
        ({"type": "error", "attributes": {"status": 200}}, "from 400 to 599"),
        ({"type": "error", "attributes": {"code": None}}, "give a text"),
        ({"type": "reshard", "attributes": {"action": "scale"}}, "give the shards to scale to"),
        ({"type": "reshard", "attributes": {"hash_key": "middle"}}, "give a decimal number"),
        ({"type": "pause", "attributes": {"target": "nobody"}}, "no target 'nobody'"),
        ({"type": "kill", "attributes": {"target": "1"}}, "no target '1'"),
        ({"type": "kill", "attributes": {"target": str(os.getppid())}}, "--target NAME=PID"),
        ({"when": {"each": 2}}, "when has no 'each'; it has at, for, every"),
        ({"when": {"every": 0}}, "when.every is 0: give a whole number from 1"),
        ({"when": {"at": "-1s"}}, "is not a length of time"),
        ({"when": {"match": {"type": "x"}}}, "when.match has no field 'type'; it has messageId"),
        ({"when": {"match": "x"}}, "when.match is 'x'"),
        ({"name": "there"}, "a fault named 'there' is in force already"),
        ({"type": "expire_iterator", "channel": "rabbitmq:*"}, "means nothing on 'rabbitmq:*'"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_with_what_would_do(
    bed: Bed, fields: dict[str, Any], why: str
) -> None:
    """The value, and what to give instead; nothing is in force afterwards."""
    bed.add("duplicate", name="there")
    with pytest.raises(FaultRefusedError) as refused:
        bed.add(**({"type_": fields.pop("type", "duplicate")} | fields))
    assert why in str(refused.value)
    assert [fault.name for fault in bed.fault_engine.list()] == ["there"]


def test_a_fault_that_is_not_there_is_unknown(bed: Bed) -> None:
    """To get, change and remove."""
    for do in (
        bed.fault_engine.get,
        bed.fault_engine.remove,
        lambda name: bed.fault_engine.change(name, FaultChange(limit=1)),
    ):
        with pytest.raises(UnknownFaultError, match="no fault is named 'nothing'"):
            do("nothing")


def test_faults_without_a_name_are_named_by_their_type(bed: Bed) -> None:
    """And numbered where there are several."""
    assert [bed.add("latency") for _ in range(3)] == ["latency", "latency-2", "latency-3"]


# The same again every time


def any_faults(draws: Draws, count: int, contract: Contract) -> list[NewFault]:
    """A set of faults of any types with any conditions."""
    return [any_fault(draws, f"fault {number}", contract) for number in range(count)]


def any_fault(draws: Draws, name: str, contract: Contract) -> NewFault:
    types = {type_.name: type_ for type_ in list_own_types(contract)}
    aimed = {name for name, type_ in types.items() if any(a.name == "target" for a in type_.attributes)}
    names = [name for name in types if name not in aimed | {"reshard", "partial_failure"}]
    type_ = types[draws.choice(names)]
    when: dict[str, Any] = {}
    for condition, most in (("every", 5), ("first", 40), ("after", 20), ("fails", 3)):
        if draws.random() < 0.2:
            when[condition] = draws.randint(1, most)
    if draws.random() < 0.2:
        assert contract.samples is not None
        when["match"] = {spell(contract, "type"): draws.choice([*contract.samples.kinds[:2], "*"])}
    attributes: dict[str, Any] = {}
    if type_.name == "latency":
        attributes = {
            "distribution": draws.choice(["constant", "uniform", "normal", "lognormal", "pareto"]),
            "jitter": 0.1,
        }
    if type_.name == "oversize":
        attributes = {"limit": 2000}
    return NewFault(
        type_.name,
        name=name,
        direction=draws.choice([d.value for d in type_.directions]),
        toxicity=draws.choice([0.1, 0.5, 0.9, 1.0]),
        when=when,
        attributes=attributes,
    )


def go(bed: Bed, size: int, rounds: int = 4) -> Injections:
    """Send messages in batches until they are taken, then read them until they come; or give up."""
    for pass_ in (bed.publish, bed.deliver):
        waiting = bed.messages[:8]
        for _ in range(rounds):
            if not waiting:
                break
            batch = waiting[:size]
            call = pass_(*batch, kind="kinesis")
            failed = [
                data for data, item in zip(batch, call.items, strict=True) if call.failure or item.failure
            ]
            waiting = failed + waiting[len(batch) :] if len(failed) < len(batch) else waiting
    assert not [event for event in bed.events.since(limit=200_000) if event.kind == "fault.failed"]
    return sorted(bed.injections(), key=str)


def bed_with(faults: list[NewFault], seed: int, contract: Contract) -> Bed:
    bed = Bed(seed, contract)
    for fault in faults:
        bed.fault_engine.add(fault)
    return bed


@OF_BOTH
@pytest.mark.parametrize(("seed", "sets"), [(11, 250), pytest.param(12, 750, marks=pytest.mark.slow)])
def test_random_sets_of_faults_do_the_same_twice(contract: Contract, seed: int, sets: int) -> None:
    """The same seed, messages and faults: the same injections, to the last detail."""
    draws = Chance(seed).draws("sets")
    total = 0
    for _ in range(sets):
        faults = any_faults(draws, draws.randint(1, 4), contract)
        bed_seed = draws.randrange(2**32)
        size = draws.randint(1, 8)
        first, second = (go(bed_with(faults, bed_seed, contract), size) for _ in range(2))
        assert first == second
        total += len(first)
    assert total > 5 * sets


def passing_faults(draws: Draws, count: int, contract: Contract = RDSS) -> list[NewFault]:
    """Faults that let every message pass sooner or later, and do not count messages."""
    faults = any_faults(draws, count, contract)
    when = ({}, {"fails": 2}, {"match": {spell(contract, "id"): "*[02468]"}})
    return [
        structs.replace(fault, toxicity=draws.choice([0.1, 0.5, 0.8]), when=draws.choice(when))
        for fault in faults
    ]


@OF_BOTH
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), pick=st.integers(0, 2**32))
def test_one_fault_more_or_less_leaves_the_choices_of_the_others_alone(
    contract: Contract, seed: int, pick: int
) -> None:
    """Each fault strikes the same messages, in the same way, whichever others are in force."""
    faults = passing_faults(Chance(pick).draws("set"), 4, contract)
    together = go(bed_with(faults, seed, contract), 3, rounds=200)
    without_one = go(bed_with(faults[:3], seed, contract), 3, rounds=200)
    assert [each for each in together if each[0] != "fault 3"] == without_one


@OF_BOTH
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), pick=st.integers(0, 2**32))
def test_it_does_not_matter_how_messages_are_batched(contract: Contract, seed: int, pick: int) -> None:
    """One at a time or all in a call: each fault strikes the same messages, in the same way."""
    faults = passing_faults(Chance(pick).draws("set"), 3, contract)
    one_by_one = go(bed_with(faults, seed, contract), 1, rounds=200)
    assert one_by_one == go(bed_with(faults, seed, contract), 8, rounds=200)


@pytest.mark.parametrize("other", ["kinesis", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def test_the_choices_are_the_same_on_every_kind_of_channel(
    brokers: Callable[[str], Broker], other: str
) -> None:
    """The same messages through the engine, and through Kinesis or RabbitMQ: the same are struck."""
    found = {}
    for kind in ("memory", other):
        broker = brokers(kind)
        broker.create()
        channel = broker.open(attempts=1)
        broker.fault("duplicate", toxicity=0.3)
        broker.fault("corrupt", toxicity=0.2, attributes={"bytes": 2})
        broker.fault("throttle", toxicity=0.3, limit=50)
        broker.fault("duplicate", name="again", direction="deliver", toxicity=0.3, attributes={"distance": 3})
        for data in MESSAGES:
            for _ in range(20):
                if not isinstance(channel.publish_many([(data, "k")])[0], Exception):
                    break
        while channel.read(limit=1000, wait=3.0 if kind == "rabbitmq" else 0):
            pass
        found[kind] = [
            (e.fields["fault"], e.fields["message_id"], e.fields["did"], str(e.fields["data"]))
            for e in broker.injections()
        ]
    assert len(found["memory"]) > 60
    assert sorted(found["memory"], key=str) == sorted(found[other], key=str)


@pytest.mark.parametrize("pick", range(4))
def test_random_sets_do_the_same_on_every_kind_of_channel(
    brokers: Callable[[str], Broker], pick: int
) -> None:
    """Whichever faults are in force: what is struck, and how, does not depend on what it goes through."""
    faults = usual_faults(pick)
    found = {kind: struck_through(brokers(kind), faults) for kind in ("memory", "kinesis", "relay")}
    assert len(found["memory"]) > 10
    assert found["memory"] == found["kinesis"] == found["relay"]


@pytest.mark.rabbitmq
@pytest.mark.parametrize("pick", range(4))
def test_random_sets_do_the_same_on_rabbitmq(brokers: Callable[[str], Broker], pick: int) -> None:
    """The same, but for a connection that breaks off while reading.

    How far a real broker has come by then is its own timing, and decides what comes again.
    """
    steady = [
        fault for fault in usual_faults(pick) if (fault.type, fault.direction) != ("disconnect", "deliver")
    ]
    assert steady
    assert struck_through(brokers("memory"), steady) == struck_through(brokers("rabbitmq"), steady)


def usual_faults(pick: int) -> list[NewFault]:
    """Four faults that every kind of channel can have."""
    usual = {name for name, type_ in TYPES.items() if not type_.kinds or type_.kinds == CARRIERS}
    return [fault for fault in passing_faults(Chance(pick).draws("kinds"), 12) if fault.type in usual][:4]


def struck_through(broker: Broker, faults: list[NewFault]) -> Injections:
    """What the faults do to messages that are sent until they are taken and read until they came.

    The last message is none of those that they match, and comes when all others did.
    """
    broker.create()
    channel = broker.open(attempts=1)
    for fault in faults:
        match = fault.when.get("match", {}) | {"messageType": "MetadataCreate"}
        broker.fault_engine.add(structs.replace(fault, when={**fault.when, "match": match}))
    last = message(99, "MetadataDelete")
    for data in [*MESSAGES[:20], last]:
        for _ in range(50):
            if not isinstance(channel.publish_many([(data, "k")])[0], Exception):
                break
    came: list[bytes] = []
    real = Clock()
    while last not in came:
        assert real.elapsed() < 30, f"{broker.kind}: the last message does not come"
        with contextlib.suppress(ChannelUnavailableError):
            came += [each.data for each in channel.read(limit=1000, wait=0.1)]
    injections = [(e.fields["fault"], e.fields["message_id"], e.fields["did"]) for e in broker.injections()]
    return sorted(injections, key=str)


def test_so_many_faults_are_in_force_at_most(bed: Bed) -> None:
    """Each costs every message something; one that is removed makes room."""
    names = [bed.add("latency", channel=str(number)) for number in range(MOST_FAULTS)]
    with pytest.raises(FaultRefusedError, match=f"{MOST_FAULTS} faults are in force"):
        bed.add("latency")
    bed.fault_engine.remove(names[0])
    assert bed.add("latency")
