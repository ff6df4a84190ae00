"""``when.match`` names the fields that a contract declares."""

from __future__ import annotations

import pytest

from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault import FaultRefusedError
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.faulted_message import Message
from emulator.faults.registry import known_type, list_types
from emulator.faults.when import read_when
from emulator.rng import Chance
from rdss_sandbox.shapes.faults import NewFault
from schemas.contract import Contract
from schemas.rdss.contract import RDSS
from tests.contracts import CONTRACTS, NAMES, make_samples
from tests.parcels import PARCELS, Parcels

NOON = 1_790_000_000.0


def parcel(data: bytes) -> Message:
    found = Message(data, "p-17")
    found.contract = PARCELS
    return found


PARCEL = parcel(b'{"event": "left", "depot": "Leith"}')
RDSS_MESSAGE = Message(
    b'{"messageHeader": {"tenantJiscID": 12, "messageType": "MetadataCreate"}, "messageBody": {}}'
)


@pytest.mark.parametrize(
    ("contract", "message", "match"),
    [
        (PARCELS, PARCEL, {"depot": "Le*"}),
        (PARCELS, PARCEL, {"key": "p-1?", "event": "left"}),
        (PARCELS, PARCEL, {"refused": "", "channel": "in*"}),
        (RDSS, RDSS_MESSAGE, {"tenantJiscID": 12, "messageType": "Metadata*"}),
    ],
)
def test_a_fault_matches_by_what_the_contract_declares(
    contract: Contract, message: Message, match: dict[str, object]
) -> None:
    """By the names that the fields have in a message, an id from outside of its bytes too."""
    assert read_when({"match": match}, contract).matches(message, "input")
    other = dict.fromkeys(match, "another")
    assert not read_when({"match": other}, contract).matches(message, "input")


def test_a_field_of_another_contract_is_refused() -> None:
    """With the fields that there are."""
    with pytest.raises(
        FaultRefusedError, match="no field 'tenantJiscID'; it has key, event, refused, depot, ch"
    ):
        read_when({"match": {"tenantJiscID": 12}}, PARCELS)


def test_a_message_without_the_form_of_its_contract_has_no_id() -> None:
    """Its bytes identify it instead."""
    assert PARCEL.message_id == "p-17"
    assert parcel(b"parcel").message_id is None


@pytest.mark.parametrize("contract", CONTRACTS, ids=NAMES)
def test_a_message_is_made_bad_and_too_large_as_its_contract_says(contract: Contract) -> None:
    """With each code that a message alone can cause, and over the largest size by default."""
    assert contract.samples is not None
    clock, samples = Clock(frozen_at=NOON), make_samples(contract, 3, NOON)
    for code in contract.samples.codes:
        engine = FaultEngine(Chance(5), clock, Events(clock), contract=contract)
        engine.add(NewFault("mutate", attributes={"code": str(code)}))
        sent = [samples.message(contract.samples.kinds[0]) for _ in range(5)]
        items = engine.plan_publish("input", "memory", [Message(each.data, each.key) for each in sent]).items
        changed = [item.data for item, each in zip(items, sent, strict=True) if item.data != each.data]
        assert changed
        assert {contract.judge(data, now=NOON + 9).code for data in changed} == {code}
    engine = FaultEngine(Chance(5), clock, Events(clock), contract=contract)
    engine.add(NewFault("oversize"))
    one = samples.message(contract.samples.kinds[0])
    (item,) = engine.plan_publish("input", "memory", [Message(one.data, one.key)]).items
    assert contract.judge(item.data).code == contract.oversize


def test_a_contract_that_changes_nothing_offers_no_such_fault() -> None:
    """What needs a capability is not there without it."""
    types = list_types(Unchanging())
    assert {"mutate", "oversize"}.isdisjoint(types)
    with pytest.raises(FaultRefusedError, match="no fault type 'mutate'; there are reshard"):
        known_type("mutate", types)


class Unchanging(Parcels):
    """Parcels that no fault can change."""

    changes = None  # type: ignore[assignment]
