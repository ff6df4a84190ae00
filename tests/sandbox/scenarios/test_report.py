"""The report page in a real browser: the timeline is there, drawn, and nothing is fetched for it."""

from __future__ import annotations

import json
import re
import subprocess
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from sandbox.scenarios.scenario import library
from sandbox.scenarios.scenario_run import run_scenario
from tests.programs import browser_program

MEASURE = """
<script>
  const box = (e) => { const b = e.getBoundingClientRect(); return [b.width, b.height]; };
  const drawn = [...document.querySelectorAll("#timeline circle, #timeline polyline")];
  const shown = drawn.filter((e) => box(e)[0] > 0);
  const count = {};
  for (const e of shown) for (const c of e.classList) count[c] = (count[c] || 0) + 1;
  document.documentElement.dataset.measured = JSON.stringify({
    timeline: box(document.querySelector("#timeline")), count,
    lanes: [...document.querySelectorAll(".names text")].map((e) => e.textContent),
    page: document.documentElement.scrollWidth, window: innerWidth,
    fetched: performance.getEntriesByType("resource").length,
  });
</script>
"""


def measured(page: Path, profile: Path) -> dict[str, Any]:
    """What a browser makes of a page."""
    watched = page.with_name("measured.html")
    text = page.read_text(encoding="utf-8")
    # The page forbids scripts, its own included; the copy that is measured has one.
    watched.write_text(re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</body>", MEASURE + "</body>"))
    command = [
        browser_program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-quic", "--no-first-run",
        "--disable-dev-shm-usage", f"--user-data-dir={profile}", "--window-size=1280,1000", "--dump-dom",
        watched.as_uri(),
    ]  # fmt: skip
    seen = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'data-measured="([^"]*)"', seen)
    assert found, seen[:2000]
    return json.loads(unescape(found[1]))


@pytest.mark.browser
def test_the_timeline_is_drawn(tmp_path: Path) -> None:
    """A dot for each thing that happened, a line for each message, a lane for each place and each fault."""
    run = run_scenario(library()["redelivery-after-a-crash"], "x", seed=7, runs=tmp_path / "runs")
    seen = measured(run.folder / "report.html", tmp_path / "profile")
    kinds = Counter(event.kind for event in run.events)
    width, height = seen["timeline"]
    assert width > 500
    assert height > 100
    assert seen["count"]["processed"] == kinds["message.processed"] == 40
    assert seen["count"]["injected"] == kinds["fault.injected"] == 2
    assert seen["count"]["crashed"] == 2
    assert seen["count"]["way"] >= 40
    assert seen["lanes"][:3] == ["before-work", "after-work", "application sends"]
    assert seen["lanes"][3:] == ["shard 0", "shard 1", "receiver", "application has it"]
    assert seen["page"] <= seen["window"], "the page is wider than the window"
    assert seen["fetched"] == 0


def test_a_page_needs_nothing_else(tmp_path: Path) -> None:
    """One file, one script that its policy names, no addresses; names from messages cannot break it."""
    run = run_scenario(library()["poison-message"], "<b>x", seed=7, runs=tmp_path)
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "<b>x" not in page
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    digest = b64encode(sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert {where[:5] for where in re.findall('(?:src|href)="([^"]*)', page)} == {"data:", "../..", "#cont"}
    assert "url(" not in page
    assert "default-src 'none'" in page
    assert "sandbox scenario run '<b>x' --seed 7" in unescape(page)
    for part in run.scenario.teach.happens.split(". "):
        assert part in unescape(page)
