"""The admin's page in a browser: it follows the hub, asks the seats, and leads to each seat's screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.axe import find_violations
from tests.chromium import chromium
from tests.extensions.hub.running_hub import RunningHub

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180), pytest.mark.xdist_group("pages")]


def test_a_trainer_uses_the_wall(hub: RunningHub, tmp_path: Path) -> None:
    """Everybody can use it, light and dark; a fault is for all of them, a name opens a seat's page."""
    anna = hub.add("anna")
    hub.aws(anna).put_record(StreamName="input", PartitionKey="k", Data=b"1")
    with chromium(tmp_path / "profile") as tab:
        for scheme in ("light", "dark"):
            tab.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
            tab.open(f"{hub.url}/hub?token={hub.admin}", lands_at=f"{hub.url}/hub")
            assert find_violations(tab) == []
        assert tab.eval("document.querySelectorAll('#seats tbody tr').length") == 1
        hub.add("bob")
        tab.wait("document.querySelectorAll('#seats tbody tr').length === 2")
        ask = "document.querySelector('#each button').click()"
        tab.eval(f"document.querySelector('[name=token]').value = 'no'; {ask}")
        tab.wait("document.getElementById('outcome').textContent.includes('asks for its token')")
        tab.problems.clear()
        tab.eval(f"document.querySelector('[name=token]').value = {hub.admin!r}; {ask}")
        tab.wait("document.getElementById('outcome').textContent === 'done for 2'")
        tab.wait("document.getElementById('seats').textContent.includes('wall-duplicate')")
        assert [each.name for each in hub.control(anna).faults()] == ["wall-duplicate"]
        assert tab.problems == []
        tab.open(tab.eval("document.querySelector('#seats a').href"), lands_at=f"{anna.control}/")
        tab.wait("!!document.querySelector('.stream')")
