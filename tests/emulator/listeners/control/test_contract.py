"""What the control API tells of the contract, and its verdicts."""

from __future__ import annotations

import pytest

from emulator.clock import Clock
from emulator.listeners.control.contract import ContractResources
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.contract import Judged
from rdss_sandbox.text.timestamps import timestamp
from schemas.rdss.contract import RDSS
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.parcels import PARCELS


def test_the_contract_lists_fields_and_codes(api: Client) -> None:
    """Every field with its path and how it is filtered by, every code with its queue."""
    found = api.contract()

    assert (found.name, found.max_bytes, found.patience) == ("rdss", 1_000_000, 86_400)
    tenant = next(each for each in found.fields if each.name == "tenant")
    assert (tenant.path, tenant.kind, tenant.example) == ("tenantJiscID", "text", "tenant:12")
    assert [each.name for each in found.fields if each.counted] == ["class", "type", "version", "code"]
    assert [each.name for each in found.fields if not each.indexed] == ["correlation", "published", "expires"]
    assert [(each.code, each.queue) for each in found.codes if each.code == "GENERR003"] == [
        ("GENERR003", "error")
    ]


def test_every_indexed_field_has_an_example_that_is_a_filter(api: Client) -> None:
    """The examples are what help shows."""
    for field in api.contract().fields:
        if field.indexed:
            assert api.messages(matching=field.example).total == 0


def test_another_contract_tells_its_own() -> None:
    """Its one label, its three codes, no patience where no message has parts."""
    resources = ContractResources(PARCELS, Clock())
    found = resources.contract()
    assert (found.name, found.patience) == ("parcels", None)
    assert [each.name for each in found.fields] == ["id", "type", "code", "depot"]
    assert [each.code for each in found.codes] == ["undeliverable", "unreadable", "no-event"]
    assert resources.judge(Judged(b'{"event": "left"}')).code is None
    assert resources.judge(Judged(b"parcel")).code == "unreadable"


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", serialise(Samples(1).message())])
def test_a_verdict_is_that_of_the_contract(api: Client, data: bytes) -> None:
    """At a moment that is given: code and violations, word for word."""
    found, known = api.judge(Judged(data, 1_800_000_000.0)), RDSS.judge(data, now=1_800_000_000.0)
    assert found.code == known.code
    assert [tuple(each) for each in known.violations] == [
        (each.path, each.rule, each.message) for each in found.violations
    ]


def test_a_verdict_is_by_the_clock_of_the_sandbox(api: Client) -> None:
    """What expires in an hour is valid now, and expired once the clock has gone on."""
    message = Samples(1).message()
    message["messageHeader"]["messageTimings"]["expirationTimestamp"] = timestamp(api.clock().time + 3_600)
    data = Judged(serialise(message))
    assert api.judge(data).code is None
    api.change_clock(ClockChange("advance", seconds=3_700))
    assert api.judge(data).code == "GENERR003"
