"""Every adaptor of the fault engine, behind the one suite of faults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.emulator.faulted_brokers import AnyBroker, broker_of
from tests.emulator.faults.adaptor_openings import (
    EVERY_ADAPTOR,
    opened_gets,
    opened_outside,
    opened_parcels,
    opened_topic,
)
from tests.emulator.faults.unsupported import GETS, OUTSIDE, PARCELS_SENT, TOPIC, UNSUPPORTED


@pytest.fixture(params=EVERY_ADAPTOR)
def broker(request: pytest.FixtureRequest) -> Iterator[AnyBroker]:
    """Each adaptor in turn. What one does not support is in one table, with the reason."""
    for case, reason in UNSUPPORTED.get(request.param, {}).items():
        name, _, value = case.partition("[")
        values = {str(given) for given in request.node.callspec.params.values()}
        if request.function.__name__ == name and (not value or value[:-1] in values):
            pytest.skip(f"{request.param}: {reason}")
    openings = {
        TOPIC: opened_topic,
        OUTSIDE: opened_outside,
        GETS: opened_gets,
        PARCELS_SENT: opened_parcels,
    }
    opening = openings.get(request.param)
    with broker_of(request) if opening is None else opening(request) as found:
        yield found
