"""A sandbox with some messages of each contract: what lists show must not depend on RDSS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.messages import NewMessage
from schemas.contract import Code, Contract, Sample, SampleMaker
from schemas.rdss.contract import RDSS
from tests.parcels import PARCELS

CONTRACTS: Final = {"rdss": RDSS, "parcels": PARCELS}
REASON: Final = "it says so on the tin"


class Site(NamedTuple):
    """What was sent: ``sent`` to input, the first of them twice, ``bad`` last; and what became of ``bad``."""

    contract: Contract
    client: Client
    sent: list[Sample]
    bad: Sample
    code: Code


@contextmanager
def open_site(contract: Contract) -> Iterator[Site]:
    """Run a sandbox of this contract, with its messages in it."""
    settings = Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)
    with embedded(settings, contract=contract) as emulator, Client(emulator.control) as client:
        yield fill(contract, client)


def fill(contract: Contract, client: Client) -> Site:
    """Send seven messages to input and one to the invalid queue: nine rows with the one that comes twice."""
    assert contract.samples is not None
    now = client.clock().time
    maker: SampleMaker = contract.samples.from_seed(7, now=now)
    sent = list(maker.stream(6))
    tried = ((code, maker.bad(code)) for code in contract.samples.codes if code.queue == "invalid")
    code, bad = next(each for each in tried if not contract.peek(each[1].data).damaged)
    for sample in (*sent, sent[0], bad):
        # Rows are in the order of arrival, which one millisecond does not tell.
        client.change_clock(ClockChange("advance", seconds=0.002))
        client.send(NewMessage("input", sample.data, sample.key))
    refused = contract.decorate(bad.data, code, REASON, now=now)
    client.send(NewMessage("invalid", refused, bad.key))
    return Site(contract, client, sent, bad, code)
