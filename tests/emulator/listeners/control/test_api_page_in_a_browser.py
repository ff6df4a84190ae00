"""The page about the control API in a real browser: one finds an endpoint, reads of it and tries it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from tests.chromium import Tab, open_tab

pytestmark = pytest.mark.browser


def send(tab: Tab, endpoint: str, **fields: Any) -> str:
    """Fill in the form of an endpoint, send it, and return what the page shows of the answer."""
    form = f"document.querySelector('#{endpoint} .try')"
    for name, value in fields.items():
        tab.eval(f"{form}.elements[{json.dumps(name)}].value = {json.dumps(value)}")
    tab.eval(f"{form}.requestSubmit()")
    answer = f"{form}.querySelector('.answer').textContent"
    tab.wait(f"/^\\d/.test({answer})")
    return str(tab.eval(answer))


def test_an_endpoint_is_found_and_opened(browser: str, emulator: Embedded) -> None:
    """By words of its path or its sentence; a link to it unfolds it, and a link to a shape unfolds that."""
    with open_tab(browser) as tab:
        tab.open(f"{emulator.control}/docs#post_faults")
        assert tab.eval("document.getElementById('post_faults').open")
        tab.key("/")
        assert tab.eval("document.activeElement.id") == "find"
        for letter in "reshard":
            tab.key(letter)
        tab.wait("document.getElementById('found').textContent.startsWith('1 of ')")
        shown = "[...document.querySelectorAll('.endpoint')].filter((each) => each.checkVisibility())"
        assert tab.eval(f"{shown}.map((each) => each.id)") == ["post_streams_by_name_reshard"]
        tab.eval("location.hash = 'Reshard'")
        tab.wait("document.getElementById('Reshard').open")
        assert not tab.problems


def test_an_endpoint_is_tried_against_this_sandbox(browser: str, emulator: Embedded, api: Client) -> None:
    """With the least that its body needs already there; a refusal is shown with its code."""
    with open_tab(browser) as tab:
        tab.open(f"{emulator.control}/docs")
        sample = tab.eval("document.querySelector('#post_faults textarea').value")
        assert send(tab, "post_faults").startswith("201\n{")
        assert [each.type for each in api.faults()] == [json.loads(sample)["type"]]
        assert '"shards"' in send(tab, "get_streams_by_name", name="input")
        assert '"no_such_stream"' in send(tab, "get_streams_by_name", name="a/b")
        assert not [each for each in tab.problems if "404" not in each]


def test_a_sandbox_with_a_token_asks_for_it(browser: str) -> None:
    """What the page does, the pages' cookie does not allow: the token is asked for, and kept nowhere."""
    settings = Settings(aws_port=0, control_port=0, data_dir=None, token="secret")
    with embedded(settings) as sandbox, open_tab(browser) as tab:
        tab.open(f"{sandbox.control}/?token=secret", lands_at=f"{sandbox.control}/")
        tab.open(f"{sandbox.control}/docs")
        assert not tab.eval("document.getElementById('token').checkVisibility()")
        assert send(tab, "get_streams").startswith("401")
        tab.eval("document.getElementById('token').value = 'secret'")
        assert send(tab, "get_streams").startswith("200")


@pytest.mark.parametrize("width", [360, 1280, 2560])
def test_it_fits_the_window(browser: str, emulator: Embedded, width: int) -> None:
    """Nothing is beyond its right edge, with an endpoint and a shape unfolded."""
    with open_tab(browser) as tab:
        tab.size(width, 900)
        tab.open(f"{emulator.control}/docs#post_faults")
        tab.eval("document.getElementById('Status').open = true")
        assert tab.eval("document.documentElement.scrollWidth") <= width
