"""A sandbox that is diagnosed, and real clients of it: each test has a stream and access keys of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.topology import Topology
from tests.emulator.diagnosis.diagnosed_stream import Wire


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def emulator(clock: Clock) -> Iterator[Embedded]:
    settings = Settings(aws_port=0, control_port=0, data_dir=None, topology=Topology(streams={}))
    with embedded(settings, clock) as running:
        yield running


@pytest.fixture
def wire(emulator: Embedded, clock: Clock) -> Iterator[Wire]:
    with Client(emulator.control) as control:
        wire = Wire(emulator, clock, control)
        wire.create()
        yield wire
        for fault in control.faults():
            control.remove_fault(fault.name)
