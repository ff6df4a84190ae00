"""``runs/index.html``: which runs it lists, and two of them side by side in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.judging.run_index import MOST_RUNS, index_page, read_runs, write_index
from sandbox.scenarios.outcome import ReportKind
from sandbox.scenarios.scenario import library
from sandbox.scenarios.scenario_run import run_scenario
from tests.axe import find_violations
from tests.chromium import Tab, chromium
from tests.sandbox.scenarios import wrong_clients as wrong

_FRAMES = "[...document.querySelectorAll('iframe')]"
_BOTH = "document.getElementById('both')"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one scenario, of which one fails, and one of another."""
    folder = tmp_path_factory.mktemp("runs")
    split = library()["split-under-load"]
    run_scenario(split, "split-under-load", seed=7, runs=folder)
    run_scenario(split, "split-under-load", seed=8, runs=folder, client=wrong.knows_no_children(2))
    run_scenario(library()["oversize"], "oversize", seed=7, runs=folder)
    return folder


def test_every_run_is_listed_once(runs: Path) -> None:
    """With verdict, seed and duration, the newest first; the link to the latest is not another run."""
    found = read_runs(runs)
    assert sorted((run.name, run.verdict, run.seed) for run in found) == [
        ("oversize", "pass", 7),
        ("split-under-load", "fail", 8),
        ("split-under-load", "pass", 7),
    ]
    assert all(run.seconds == run.facts["took"] for run in found)
    assert [run.folder.partition("/")[2] for run in found] == sorted(
        (run.folder.partition("/")[2] for run in found), reverse=True
    )


def test_a_run_makes_the_page(runs: Path) -> None:
    """It is there after a run, and each run's page is where its link leads."""
    text = (runs / "index.html").read_text(encoding="utf-8")
    for run in read_runs(runs):
        assert f'href="{run.folder}/report.html"' in text
        assert (runs / run.folder / "report.html").is_file()


def test_a_run_without_a_page_has_no_link(tmp_path: Path) -> None:
    run_scenario(library()["oversize"], "x", seed=1, reports=frozenset({ReportKind.JUNIT}), runs=tmp_path)
    assert 'report.html"' not in (tmp_path / "index.html").read_text(encoding="utf-8")


def summary(runs: Path, name: str, content: bytes) -> Path:
    folder = runs / name
    folder.mkdir(parents=True)
    (folder / "summary.json").write_bytes(content)
    return folder


def test_what_is_no_run_is_left_out(tmp_path: Path) -> None:
    """A summary that cannot be read, a folder without one, a file: none of them stops the page."""
    summary(tmp_path, "broken/2026-01-01T00-00-00Z", b"{")
    summary(tmp_path, "list/2026-01-01T00-00-00Z", b"[]")
    (tmp_path / "empty/2026-01-01T00-00-00Z").mkdir(parents=True)
    (tmp_path / "pipeline-report.html").write_text("x")
    summary(tmp_path, "demo/2026-01-01T00-00-00Z", b'{"verdict": "pass", "seed": 1, "seconds": 12.5}')
    write_index(tmp_path)
    assert [(run.name, run.seconds) for run in read_runs(tmp_path)] == [("demo", 12.5)]
    assert "12.5 s" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_a_name_is_a_name(tmp_path: Path) -> None:
    """What a summary says is text, in the table and in the data, whatever it is."""
    nasty = {"name": "</script><b>x", "verdict": '"><b>x', "facts": {"</script><b>x": 1}}
    summary(tmp_path, "a b#<b>/2026-01-01T00-00-00Z", json.dumps(nasty).encode())
    (tmp_path / "a b#<b>/2026-01-01T00-00-00Z/report.html").touch()
    page = index_page(read_runs(tmp_path))
    assert "<b>" not in page
    assert 'href="a%20b%23%3Cb%3E/2026-01-01T00-00-00Z/report.html"' in page


def test_the_page_stays_small(tmp_path: Path) -> None:
    """The last two hundred runs, and the page says that there are older ones."""
    for number in range(MOST_RUNS + 5):
        summary(tmp_path, f"s/{number:04}", b'{"seed": %d}' % number)
    found = read_runs(tmp_path)
    assert [run.seed for run in found] == list(range(MOST_RUNS + 4, 4, -1))
    assert f"The last {MOST_RUNS} runs" in index_page(found)


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened_tab:
        opened_tab.size(1400, 1000)
        yield opened_tab


def compared(tab: Tab, runs: Path) -> None:
    """Open the page and compare the two runs of one scenario, as a person does."""
    tab.problems.clear()
    tab.open((runs / "index.html").resolve().as_uri())
    for number, run in enumerate(read_runs(runs)):
        if run.name == "split-under-load":
            tab.click_on(f"[data-run='{number}']")
    tab.click_on("#compare")
    tab.wait(f"{_BOTH}.textContent.includes('Both replays are ready.')")


@pytest.mark.browser
@pytest.mark.xdist_group("replay")
def test_two_runs_are_compared_side_by_side(tab: Tab, runs: Path) -> None:
    """Their facts with what differs, their pages beside each other, and one slider for both."""
    compared(tab, runs)
    assert tab.eval("document.activeElement.id") == "both"
    differs = tab.eval("[...document.querySelectorAll('.differs')].map((e) => e.cells[0].textContent)")
    assert {"verdict", "seed", "lost", "processed"} <= set(differs)
    assert "offered" not in differs
    left, right = tab.eval(
        f"{_FRAMES}.map((e) => {{ const b = e.getBoundingClientRect(); return [b.left, b.top]; }})"
    )
    assert left[0] < right[0]
    assert left[1] == right[1]
    for _ in range(3):
        tab.click_on("#both .controls button:last-child")
    moment = tab.eval(f"{_BOTH}.querySelector('p').textContent")
    assert moment.startswith("Both are at +")
    assert moment != "Both are at +0.000 s."
    tab.click_on("#both .controls button:nth-child(2)")
    tab.wait(f"Number({_BOTH}.querySelector('input').value) > 3")
    tab.click_on("#both .controls button:nth-child(2)")
    assert tab.problems == []


@pytest.mark.browser
@pytest.mark.xdist_group("replay")
def test_only_runs_of_one_scenario_are_compared(tab: Tab, runs: Path) -> None:
    """Two of different scenarios: the button stays grey, and the page says why."""
    tab.open((runs / "index.html").resolve().as_uri())
    names = [run.name for run in read_runs(runs)]
    tab.click_on(f"[data-run='{names.index('oversize')}']")
    tab.click_on(f"[data-run='{names.index('split-under-load')}']")
    assert tab.eval("document.getElementById('compare').disabled")
    assert (
        tab.eval("document.getElementById('chosen').textContent") == "Choose two runs of the same scenario."
    )


@pytest.mark.browser
@pytest.mark.xdist_group("replay")
def test_axe_finds_nothing(tab: Tab, runs: Path) -> None:
    """The list and the comparison, by axe-core's rules; the runs' own pages have their own test."""
    compared(tab, runs)
    assert find_violations(tab) == []
