"""The replay in a real browser: it opens at the first trouble, plays, holds, steps and is dragged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rdss_sandbox.shapes.events import Event
from sandbox.scenarios.outcome import Run
from sandbox.scenarios.play import START
from sandbox.scenarios.run_report import page
from sandbox.scenarios.scenario import library
from sandbox.scenarios.scenario_run import run_scenario
from tests.axe import find_violations
from tests.chromium import Tab, chromium
from tests.sandbox.scenarios import wrong_clients as wrong

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("replay")]
_POSITION = r"Number(/step (\d+) of/.exec(document.getElementById('position').ariaValueText)[1])"
"""The position that a screen reader is told, which the picture follows; the slider alone may move without."""
_SAID = "document.getElementById('said').textContent"
_ALL = "[...document.querySelectorAll"
_DATA = "JSON.parse(document.getElementById('replay-data').textContent)"
_FIRST_POINT = """(() => {
    const stage = document.getElementById("stage"), box = stage.getBoundingClientRect();
    const { data } = stage.getContext("2d").getImageData(0, 0, stage.width, stage.height);
    const scale = stage.width / box.width;
    for (let y = Math.round(40 * scale); y < stage.height; y += 1)
        for (let x = 0; x < 150 * scale; x += 1)
            if (data[4 * (y * stage.width + x) + 3] > 200) return [box.left + x / scale, box.top + y / scale];
})()"""
_WHEN_PAINTED = """addEventListener("load", () =>
    requestAnimationFrame(() => requestAnimationFrame(() => { window.paintedAt = performance.now(); })))"""
_STRIKES = f"{_DATA}.steps.map((step, at) => [at, step[5]]).filter(([, place]) => place)"
_FLASH = """(() => {
    const stage = document.getElementById("stage"), scale = stage.width / stage.getBoundingClientRect().width;
    const lines = Math.round(stage.height - 60 * scale);  // what the fault did is written beneath
    const context = stage.getContext("2d"), { data } = context.getImageData(0, 0, stage.width, lines);
    stage.style.color = "var(--fault)";
    const wanted = getComputedStyle(stage).color.match(/[0-9]+/g).map(Number);
    const found = [];
    for (let at = 0; at < data.length; at += 4)
        if (data[at + 3] > 250 && wanted.every((value, channel) => Math.abs(data[at + channel] - value) < 6))
            found.push((at / 4) % stage.width / stage.width);
    found.sort((one, other) => one - other);
    return [found.length, found[found.length >> 1]];
})()"""
"""How many points have the colour of faults, and the middle one's distance from the left, from 0 to 1."""
_LIFE = "document.getElementById('life').hidden ? '' : document.getElementById('life').textContent"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened_tab:
        yield opened_tab


@pytest.fixture(scope="module")
def crash(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run in which the receiver dies twice."""
    folder = tmp_path_factory.mktemp("runs")
    return run_scenario(library()["redelivery-after-a-crash"], "x", seed=7, runs=folder)


def opened(tab: Tab, run: Run, *, width: int = 1280, touch: bool = False, **prefer: str) -> None:
    tab.size(width, 1000, touch=touch)
    tab.prefer(**(prefer or {"prefers_reduced_motion": "no-preference", "prefers_color_scheme": "light"}))
    tab.problems.clear()
    tab.asked.clear()
    tab.open((run.folder / "report.html").resolve().as_uri())


def painted(tab: Tab) -> int:
    """How many points of the picture are not empty."""
    return int(
        tab.eval(
            "(() => { const c = document.getElementById('stage');"
            "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            "let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()"
        )
    )


def test_it_opens_at_the_first_trouble(tab: Tab, crash: Run) -> None:
    """At the fault, with its effects beneath; nothing is fetched and nothing fails."""
    opened(tab, crash)
    assert re.match(r"cause: \+1\.000 s The fault before-work struck \w{8}: killed", tab.eval(_SAID))
    listed = tab.eval(f"{_ALL}('#first-failure li')].map((e) => [e.className, e.textContent])")
    assert [mark for mark, _ in listed][:3] == ["cause", "effect", "effect"]
    assert "the receiving process is killed" in listed[1][1]
    lit = tab.eval(f"{_ALL}('#timeline .lit')].map((e) => e.classList[1])")
    assert lit.count("cause") == 1
    assert lit.count("effect") > 5
    assert painted(tab) > 1000
    assert tab.problems == []
    assert tab.asked == [(crash.folder / "report.html").resolve().as_uri()]


def test_a_failing_run_opens_where_it_failed(tab: Tab, tmp_path: Path) -> None:
    """At the step that lost a message, not at the first fault; the cause is one click away."""
    run = run_scenario(
        library()["split-under-load"], "x", seed=7, runs=tmp_path, client=wrong.knows_no_children(2)
    )
    opened(tab, run)
    assert tab.eval(_SAID).startswith("went wrong: ")
    assert "It makes the verdict fail: lost, processed." in tab.eval("document.body.innerText")
    tab.click_on("#first-failure .cause button")
    assert "The fault first-split struck" in tab.eval(_SAID)


def test_a_run_without_trouble_opens_at_its_start(tab: Tab, tmp_path: Path) -> None:
    opened(tab, run_scenario(library()["happy-path"], "x", seed=7, runs=tmp_path))
    assert tab.eval(_POSITION) == 0
    assert "Nothing went wrong in this run." in tab.eval("document.body.innerText")
    assert tab.eval("document.getElementById('first').disabled")


def test_play_hold_step_and_speed(tab: Tab, crash: Run) -> None:
    """Play goes on from where it is, hold stops it there, a step is one event, and the end is the end."""
    opened(tab, crash)
    before = tab.eval(_POSITION)
    tab.click_on("#forward")
    assert tab.eval(_POSITION) == before + 1
    tab.click_on("#back")
    tab.click_on("#back")
    assert tab.eval(_POSITION) == before - 1
    tab.click_on("#play")
    assert tab.eval("document.getElementById('play').textContent") == "Hold"
    tab.wait(f"{_POSITION} > {before + 3}")
    tab.click_on("#play")
    held = tab.eval(_POSITION)
    tab.eval("new Promise((done) => setTimeout(done, 300))")
    assert tab.eval(_POSITION) == held
    tab.eval("document.getElementById('speed').value = '256'")
    tab.click_on("#play")
    tab.wait("document.getElementById('play').textContent === 'Play'")
    assert tab.eval(_POSITION) == tab.eval("Number(document.getElementById('position').max)")
    tab.click_on("#first")
    assert tab.eval(_POSITION) == before


def test_it_is_dragged(tab: Tab, crash: Run) -> None:
    """The slider and the timeline are both pulled along; the picture follows."""
    opened(tab, crash)
    before, (x, y) = tab.eval(_POSITION), tab.middle("#position")
    tab.drag((x, y), (x + 250, y))
    dragged = tab.eval(_POSITION)
    assert dragged > before + 20
    x, y = tab.middle("#timeline-scroll")
    tab.press(x, y)
    tab.move(x - 200, y)
    assert tab.eval(_POSITION) < dragged
    tab.move(x + 300, y)
    assert tab.eval(_POSITION) > before
    tab.release(x + 300, y)


def test_keys_are_enough(tab: Tab, crash: Run) -> None:
    """Everything can be reached and done with the keyboard, and the focus comes back."""
    opened(tab, crash)
    tab.eval("document.getElementById('stage').focus()")
    before = tab.eval(_POSITION)
    tab.key("ArrowRight")
    tab.key("ArrowRight")
    tab.key("ArrowLeft")
    assert tab.eval(_POSITION) == before + 1
    tab.key("Home")
    assert tab.eval(_POSITION) == 0
    tab.key(" ")
    tab.wait(f"{_POSITION} > 2")
    tab.key(" ")
    assert tab.eval("document.getElementById('play').textContent") == "Play"
    tab.key("Home")
    tab.key("ArrowRight")
    tab.key("Enter")
    assert tab.eval("document.activeElement.id") == "life"
    assert "was processed once" in tab.eval(_LIFE)
    tab.key("Escape")
    assert tab.eval(_LIFE) == ""
    tab.key("End")
    assert tab.eval(_POSITION) == tab.eval("Number(document.getElementById('position').max)")
    tab.eval("document.getElementById('stage').focus()")
    reached = []
    for _ in range(6):
        tab.key("Tab")
        reached.append(tab.eval("document.activeElement.id"))
    assert reached == ["first", "back", "play", "forward", "speed", "position"]


def test_a_message_that_is_clicked_tells_its_life(tab: Tab, crash: Run) -> None:
    """From the picture: its steps in words, and what became of it; its line in the timeline stands out."""
    opened(tab, crash)
    tab.eval("document.getElementById('stage').focus()")
    tab.key("Home")
    for _ in range(3):
        tab.key("ArrowRight")
    # The first messages are where the application sends them.
    tab.click(*tab.eval(_FIRST_POINT))
    life = tab.eval(_LIFE)
    assert "The application offers" in life
    assert "The broker has" in life
    assert "The receiver is given" in life
    assert (
        life.index("The broker has") < life.index("The receiver is given") < life.index("was processed once")
    )
    assert tab.eval("document.querySelectorAll('#timeline .selected').length") >= 1


def test_a_lost_message_is_said_to_be_lost(tab: Tab, tmp_path: Path) -> None:
    run = run_scenario(library()["happy-path"], "x", seed=7, runs=tmp_path, client=wrong.FIRST_SHARD_ONLY)
    opened(tab, run)
    tab.click_on("#said button")
    assert "It is lost" in tab.eval(_LIFE)


def test_shards_split_in_the_picture(tab: Tab, tmp_path: Path) -> None:
    """After a split there are three lanes where there were two: what is painted changes with the position."""
    opened(tab, run_scenario(library()["split-under-load"], "x", seed=7, runs=tmp_path))
    places = f"{_DATA}.shards.map((s) => [s.name, s.opened !== null])"
    assert tab.eval(places) == [
        ["shard 0", False], ["shard 2", True], ["shard 3", True],
        ["shard 1", False], ["shard 4", True], ["shard 5", True],
    ]  # fmt: skip
    tab.eval("document.getElementById('stage').focus()")
    tab.key("Home")
    two = painted(tab)
    tab.key("End")
    assert painted(tab) > 1.3 * two


def go_to(tab: Tab, position: int) -> None:
    tab.eval(f"document.getElementById('position').value = {position};"
             "document.getElementById('position').dispatchEvent(new Event('input'))")  # fmt: skip


def test_a_fault_flashes_where_it_strikes(tab: Tab, crash: Run, tmp_path: Path) -> None:
    """Before the shards for what is published, at the receiver for what is killed; not before, nor later."""
    retried = run_scenario(library()["producer-retry"], "x", seed=7, runs=tmp_path)
    seen = {}
    for run, place in ((retried, "publish"), (crash, "receiver")):
        opened(tab, run)
        strikes = tab.eval(_STRIKES)
        at = next(at for at, where in strikes if where == place)
        go_to(tab, 0)
        assert tab.eval(_FLASH)[0] == 0, "before anything happened"
        go_to(tab, at + 1)
        assert "struck" in tab.eval(_SAID)
        points, seen[place] = tab.eval(_FLASH)
        assert points > 100, place
        tab.eval("document.getElementById('stage').focus()")
        tab.key("End")
        last = strikes[-1][0]
        if tab.eval(_POSITION) > last + 10:
            assert tab.eval(_FLASH)[0] == 0, "long after it"
    assert seen["publish"] < 0.3
    assert seen["receiver"] > 0.7


def test_a_screen_reader_is_told_each_step_when_held_and_nothing_while_it_plays(tab: Tab, crash: Run) -> None:
    """By the tree that the browser gives to assistive technology: the status is live, and has the step."""

    def status() -> tuple[str, str]:
        nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
        node = next(node for node in nodes if node.get("role", {}).get("value") == "status")
        live = next(each["value"]["value"] for each in node["properties"] if each["name"] == "live")
        below = [each for each in nodes if each.get("parentId") == node["nodeId"]]
        return live, " ".join(each["name"]["value"] for each in below if each.get("name"))

    opened(tab, crash)
    tab.call("Accessibility.enable")
    try:
        said = []
        for _ in range(3):
            tab.click_on("#forward")
            live, words = status()
            assert live == "polite"
            said.append(words)
        assert len(set(said)) == 3
        assert all(words.startswith(("effect: +", "+")) for words in said)
        tab.click_on("#play")
        assert tab.eval("document.getElementById('said').getAttribute('aria-live')") == "off"
        tab.click_on("#play")
        live, words = status()
        assert live == "polite"
        assert tab.eval("document.getElementById('position').ariaValueText").split(", ", 1)[1] in words
    finally:
        tab.call("Accessibility.disable")


def test_idle_time_says_its_length(tab: Tab, tmp_path: Path) -> None:
    """A minute in which nobody answers is one step, and the step says how long it was."""
    run = run_scenario(library()["expired-message"], "x", seed=7, runs=tmp_path)
    opened(tab, run)
    idle = tab.eval(
        f"{_DATA}.steps"
        ".map((s, at) => [at, s[0], s[3]]).filter((s) => s[1] === 'idle' && s[2].includes(' min'))"
    )
    assert idle
    go_to(tab, idle[0][0] + 1)
    assert idle[0][2] in tab.eval(_SAID)


def test_less_motion(tab: Tab, crash: Run) -> None:
    """Who prefers reduced motion is shown one still picture a step; playing still reaches the end."""
    opened(tab, crash, prefers_reduced_motion="reduce")
    tab.eval("document.getElementById('speed').value = '256'")
    tab.click_on("#play")
    tab.wait("document.getElementById('play').textContent === 'Play'")
    assert tab.eval(_POSITION) == tab.eval("Number(document.getElementById('position').max)")


def test_it_works_on_a_phone(tab: Tab, crash: Run) -> None:
    """Nothing is wider than the window or cut, the picture is drawn, and a thumb hits each button."""
    opened(tab, crash, width=375, touch=True)
    assert tab.eval("document.documentElement.scrollWidth") <= 375
    names = "document.querySelector('svg.names').getBoundingClientRect()"
    starts = tab.eval(f"{_ALL}('svg.names text')].map((e) => e.getBoundingClientRect().left - {names}.left)")
    assert min(starts) >= 0
    ends = tab.eval(f"{_ALL}('svg.names text')].map((e) => {names}.right - e.getBoundingClientRect().right)")
    assert min(ends) >= 0
    assert painted(tab) > 1000
    heights = tab.eval(f"{_ALL}('.controls button, #position')].map((e) => e.getBoundingClientRect().height)")
    assert min(heights) >= 32
    before, (x, y) = tab.eval(_POSITION), tab.middle("#forward")
    tab.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    tab.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    tab.wait(f"{_POSITION} === {before + 1}")


def test_ten_thousand_events_are_painted_within_a_second(tab: Tab, crash: Run, tmp_path: Path) -> None:
    """From the beginning of the navigation until picture, timeline and tables are on the screen.

    Where other programs have the processor, what counts is the time that the page had it.
    """
    run = replace(crash, events=many(crash.events, 10_000), folder=tmp_path)
    (tmp_path / "report.html").write_text(page(run), encoding="utf-8")
    watch = tab.call("Page.addScriptToEvaluateOnNewDocument", source=_WHEN_PAINTED)["identifier"]
    taken: list[float] = []
    # Whatever else the machine does makes it slower, never faster.
    while len(taken) < 5 and min(taken, default=1.0) >= 1.0:
        before = tab.processor_seconds()
        opened(tab, run)
        tab.wait("window.paintedAt > 0")
        taken.append(min(tab.eval("paintedAt") / 1000, tab.processor_seconds() - before))
    tab.call("Page.removeScriptToEvaluateOnNewDocument", identifier=watch)
    assert tab.eval("Number(document.getElementById('position').max)") > 9_000
    assert painted(tab) > 1000
    assert min(taken) < 1.0, taken
    assert tab.problems == []


def many(events: tuple[Event, ...], number: int) -> tuple[Event, ...]:
    """The events of a run again and again, each time with other messages, until there are so many."""
    found: list[Event] = []
    last = events[-1].time - START
    while len(found) < number:
        turn = len(found) // len(events)
        for event in events:
            fields = json.loads(
                json.dumps(event.fields).replace('"message_id": "', f'"message_id": "{turn}-')
            )
            found.append(Event(len(found) + 1, event.time + turn * last, event.kind, fields))
    return tuple(found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_axe_finds_nothing(tab: Tab, crash: Run, scheme: str, width: int) -> None:
    """Roles, names, contrast, landmarks, sizes: by axe-core's rules for WCAG and its best practices."""
    opened(tab, crash, width=width, prefers_color_scheme=scheme)
    tab.click_on("#said button")
    tab.eval("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert find_violations(tab) == []
