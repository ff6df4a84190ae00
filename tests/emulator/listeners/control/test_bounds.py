"""How far the control API goes: the most there can be is answered, and more is refused by name."""

from __future__ import annotations

import httpx
import pytest

from emulator.clock import LATEST
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.streams import Reshard
from rdss_sandbox.shapes.topology import Topology


def test_the_clock_goes_to_the_end_of_dates(api: Client) -> None:
    """Thirty years a time, until the year 9999: then a refusal that says so, and the sandbox goes on."""
    thirty_years = ClockChange("advance", seconds=1e9)
    while api.clock().time + 1e9 <= LATEST:
        api.change_clock(thirty_years)
    with pytest.raises(RefusedError, match="no further than the year 9999"):
        api.change_clock(thirty_years)
    assert api.change_clock(ClockChange("speed", speed=1e9)).time <= LATEST
    assert api.status().clock.time <= LATEST


def test_ten_thousand_shards_can_be_made_and_looked_at(api: Client) -> None:
    """The most that a topology asks for; everything else goes on answering. One more is refused."""
    api.populate(Topology(streams={"wide": 10_000}))
    assert api.stream("wide").open_shards == 10_000
    assert api.reshard("wide", Reshard("split", shard="7")).open_shards == 10_001
    assert api.status().messages == 0
    with pytest.raises(RefusedError, match="10000"):
        api.populate(Topology(streams={"wider": 10_001}))


def test_what_no_key_of_an_object_can_be_is_refused(http: httpx.Client) -> None:
    """Control characters and more than 1,024 of any: 400, and not a failure of the bucket."""
    for asked in ({"after": "\0"}, {"prefix": "\x1c"}, {"after": "k" * 1025}):
        assert http.get("/buckets/rdss-audit/objects", params=asked).status_code == 400
