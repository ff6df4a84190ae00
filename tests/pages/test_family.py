"""Our pages are one family: each has the header, and can be used by everybody, on every screen."""

from __future__ import annotations

from typing import Any

import pytest

from tests.axe import find_violations
from tests.chromium import Tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("pages")]

_CONTROL = ["Watch", "Course", "Runs", "Control API"]
PLACES = {
    "watch": ("Watch", _CONTROL),
    "course": ("Course", _CONTROL),
    "control API": ("Control API", _CONTROL),
    "runs on the port": ("Runs", _CONTROL),
    "run on the port": ("Runs", _CONTROL),
    "certificate on the port": ("Certificate", [*_CONTROL, "Certificate"]),
    "AMQP": ("AMQP", [*_CONTROL, "AMQP"]),
    "course on disk": ("Course", ["Course"]),
    "certificate": ("Certificate", ["Certificate"]),
    "runs": ("Runs", ["Runs"]),
    "run": ("Runs", ["Runs"]),
    "pipeline report": ("Pipeline", ["Pipeline"]),
    "design": ("Design", [*_CONTROL, "Design"]),
}
"""What each page is in its header, and the places there: those that can be reached from where it is."""
_LINKS = "[...document.querySelectorAll('body > header.site nav a')]"
_HERE = f"{_LINKS}.filter((each) => each.ariaCurrent === 'page').map((each) => each.textContent)"
_LOOK = """[document.querySelector('header.site'), document.body].map((each) => {
    const {color, backgroundColor, fontFamily} = getComputedStyle(each);
    return [color, backgroundColor, fontFamily];
})"""
_REACHABLE = """[...document.body.querySelectorAll(
    'a[href], button:enabled, input, select, summary, [tabindex="0"]'
)].filter((each) => each.checkVisibility()).length"""
_FOCUS = """(() => {
    const found = document.activeElement, style = getComputedStyle(found);
    window.reached ||= new Set();
    if (reached.has(found) || found === document.body) return null;
    reached.add(found);
    return style.outlineStyle !== 'none' || found.matches('.skip');
})()"""


def opened(tab: Tab, address: str, *, width: int = 1280, scheme: str = "light") -> None:
    """Open a page, and unfold the first of what is folded in it."""
    tab.problems.clear()
    tab.size(width, 900)
    tab.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    tab.open(address)
    tab.wait("!document.getElementById('state') || !!document.querySelector('.stream')")
    tab.eval(
        "[...document.querySelectorAll('main details')].slice(0, 5).forEach((each) => { each.open = true; })"
    )


@pytest.mark.parametrize("page", PLACES)
def test_the_header_has_the_places_that_can_be_reached(
    tab: Tab, addresses: dict[str, str], page: str
) -> None:
    """The page is marked as one of them, nothing fails, and each link leads to the page that it names."""
    opened(tab, addresses[page])
    here, places = PLACES[page]
    assert tab.problems == []
    assert tab.eval(_HERE) == [here]
    links = tab.eval(f"{_LINKS}.map((each) => [each.textContent, each.href])")
    assert [name for name, _ in links] == places
    for name, where in links:
        if where and page != "design":
            tab.open(where)
            assert tab.eval(_HERE) == [name]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_look_alike(tab: Tab, addresses: dict[str, str], scheme: str) -> None:
    """Header, ground, ink and font are the same on all pages, and differ between light and dark."""
    looks: dict[str, Any] = {}
    for page in PLACES:
        opened(tab, addresses[page], scheme=scheme)
        looks[page] = tab.eval(_LOOK)
    assert {str(look) for look in looks.values()} == {str(looks["design"])}, looks
    ground = looks["design"][1][1]
    assert (ground == "rgb(255, 255, 255)") is (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PLACES)
def test_axe_finds_nothing(tab: Tab, addresses: dict[str, str], page: str, scheme: str) -> None:
    """Roles, names, contrast, landmarks, headings, on a screen and on a phone, with everything unfolded."""
    for width in (1280, 360):
        opened(tab, addresses[page], width=width, scheme=scheme)
        # Of a page with many sections that are alike, all would take a minute.
        tab.eval("[...document.querySelectorAll('main section')].slice(8).forEach((each) => each.remove())")
        assert find_violations(tab) == [], width


@pytest.mark.parametrize("page", PLACES)
def test_no_page_is_wider_than_the_window(tab: Tab, addresses: dict[str, str], page: str) -> None:
    """From a phone to the largest screen; what is wide is scrolled by itself."""
    for width in (360, 800, 1280, 2560):
        opened(tab, addresses[page], width=width)
        assert tab.eval("document.documentElement.scrollWidth") <= width, width


@pytest.mark.parametrize("page", PLACES)
def test_the_keyboard_reaches_everything(tab: Tab, addresses: dict[str, str], page: str) -> None:
    """Tab goes first to the link past the header, then to all there is, and one sees where one is."""
    opened(tab, addresses[page])
    tab.eval("document.querySelectorAll('main details').forEach((each) => { each.open = false; })")
    tab.key("Tab")
    assert tab.eval("document.activeElement.matches('.skip') && document.activeElement.checkVisibility()")
    seen = [tab.eval(_FOCUS)]
    for _ in range(tab.eval(_REACHABLE)):
        tab.key("Tab")
        seen.append(tab.eval(_FOCUS))
    assert [each for each in seen if each is False] == []
    assert seen.count(True) >= tab.eval(_REACHABLE) - 1


def test_code_is_copied(tab: Tab, addresses: dict[str, str]) -> None:
    """The button says so, and the clipboard has the text of the block."""
    opened(tab, addresses["control API"])
    tab.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    tab.call("Emulation.setFocusEmulationEnabled", enabled=True)
    tab.click_on("[open] .code button")
    tab.wait("document.querySelector('[open] .code button').textContent === 'Copied'")
    copied = tab.eval("navigator.clipboard.readText()")
    assert copied == tab.eval("document.querySelector('[open] .code pre').textContent.trim()")


@pytest.mark.parametrize("page", ["certificate", "run", "pipeline report"])
def test_what_is_handed_over_prints(tab: Tab, addresses: dict[str, str], page: str) -> None:
    """On white, without what one can only press; nothing is cut at the edge of the paper."""
    opened(tab, addresses[page], width=720, scheme="dark")
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.eval("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    pressed = "[...document.querySelectorAll('.site nav, .controls, .code button, .skip')]"
    assert tab.eval(f"{pressed}.filter((each) => each.checkVisibility()).length") == 0
    wide = "[...document.querySelectorAll('main *')].filter((each) => each.checkVisibility() && "
    wide += "each.getBoundingClientRect().right > innerWidth + 1).map((each) => each.outerHTML.slice(0, 200))"
    assert tab.eval(wide) == []


def test_the_printed_lanes_keep_their_names(tab: Tab, addresses: dict[str, str]) -> None:
    """Names and lanes shrink by one share, and are as high as each other."""
    opened(tab, addresses["run"], width=720)
    tab.call("Emulation.setEmulatedMedia", media="print")
    heights = tab.eval(
        "[...document.querySelectorAll('.chart svg')].map((each) => each.getBoundingClientRect().height)"
    )
    assert len(heights) == 2
    assert abs(heights[0] - heights[1]) < 1, heights


def test_the_choice_of_light_or_dark_is_that_of_every_page(tab: Tab, addresses: dict[str, str]) -> None:
    """Made on one page, it is found on the next, and on the first again."""
    opened(tab, addresses["control API"], scheme="light")
    tab.click_on("#theme")
    assert tab.eval("getComputedStyle(document.body).backgroundColor") == "rgb(15, 20, 26)"
    for page in ("watch", "course", "runs on the port", "run on the port", "certificate on the port"):
        opened(tab, addresses[page], scheme="light")
        assert tab.eval("getComputedStyle(document.body).backgroundColor") == "rgb(15, 20, 26)", page
    tab.click_on("#theme")
    opened(tab, addresses["control API"], scheme="light")
    assert tab.eval("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tab.eval("localStorage.clear()")
