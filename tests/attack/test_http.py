"""Attacks over HTTP/1.1: good clients on every port do not wait for them."""

from __future__ import annotations

import pytest

from tests.attack import http_attacks
from tests.attack.good_clients import assert_nobody_waited, watched
from tests.attack.house import House, attack

PORTS = ("aws", "control", "queues", "topics")


@pytest.mark.parametrize("port", PORTS)
def test_many_header_lines(house: House, port: str) -> None:
    """600,000 header lines in one request."""
    with watched(house) as seen:
        attack(http_attacks.header_lines, house.ports[port], 600_000)
    assert_nobody_waited(seen)
