"""``when.match`` names the fields that a contract declares."""

from __future__ import annotations

import pytest

from emulator.faults.fault import FaultRefusedError
from emulator.faults.faulted_message import Message
from emulator.faults.when import read_when
from schemas.contract import Contract
from schemas.rdss.contract import RDSS
from tests.parcels import PARCELS


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
