"""Who opens the pages of the control port in a browser, in a sandbox with a token and in one without."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from emulator.assembly.embedded import embedded
from emulator.listeners.control.watch.page_access import PAGES, PageCookie
from emulator.settings.settings import Settings

BROWSER = {"accept": "text/html,*/*", "sec-fetch-site": "none"}
TOKEN = "not-to-be-guessed"


@pytest.fixture(scope="module")
def control() -> Iterator[str]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, token=TOKEN)) as emulator:
        yield emulator.control


@pytest.fixture
def browser(control: str) -> Iterator[httpx.Client]:
    """What keeps cookies and does not follow redirects."""
    with httpx.Client(base_url=control, headers=BROWSER, trust_env=False) as asking:
        yield asking


def test_without_the_token_a_browser_is_told_how_to_get_in(browser: httpx.Client) -> None:
    """In words, since a person reads it; programs get the refusal that they know."""
    for path in PAGES:
        answer = browser.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (401, "text/plain; charset=utf-8")
        assert "sandbox watch" in answer.text
        refused = browser.get(path, headers={"accept": "application/json"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "token_needed")


@pytest.mark.parametrize("query", ["token=wrong", "token=", "token", "token=%FF", "TOKEN=not-to-be-guessed"])
def test_a_wrong_token_opens_nothing(browser: httpx.Client, query: str) -> None:
    """And sets no cookie."""
    answer = browser.get(f"/?{query}")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_the_address_with_the_token_opens_the_pages_once_and_for_all(browser: httpx.Client) -> None:
    """It leads to the address without the token; no script reads the cookie, and no other site sends it."""
    answer = browser.get("/", params={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    assert TOKEN not in said
    for path in PAGES:
        assert browser.get(path).status_code == 200, path


def test_the_cookie_looks_and_changes_nothing(browser: httpx.Client) -> None:
    """Who gets hold of it, such as another port of the host, resets nothing and reads no message."""
    browser.get("/", params={"token": TOKEN})
    assert browser.cookies
    for method, path in (
        ("POST", "/reset"), ("POST", "/faults"), ("POST", "/picture"), ("GET", "/status"),
        ("GET", "/messages"), ("GET", "/events"), ("DELETE", "/faults/x"), ("GET", "/%2e/reset"),
    ):  # fmt: skip
        assert browser.request(method, path).status_code == 401, path
    assert browser.get(f"/status?token={TOKEN}").status_code == 401, "only the page's own address has it"


@pytest.mark.parametrize("path", sorted(PAGES - {"/"}))
def test_only_the_address_of_the_page_takes_the_token(browser: httpx.Client, path: str) -> None:
    """An address with a token in it is one to be left at once, as the page's is."""
    assert browser.get(path, params={"token": TOKEN}).status_code == 401


def test_other_sites_get_nothing_with_token_and_cookie(browser: httpx.Client) -> None:
    """As at every port: 403 and nothing else."""
    browser.get("/", params={"token": TOKEN})
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        answer = browser.get("/", params={"token": TOKEN}, headers=headers)
        assert (answer.status_code, answer.content) == (403, b"")
        assert browser.get("/picture", headers=headers).status_code == 403


def test_cookies_that_are_none_are_no_way_in(browser: httpx.Client) -> None:
    """A cookie of another sandbox, a damaged one, one with the token itself."""
    cookie, other = PageCookie.of(TOKEN), PageCookie.of("another")
    assert cookie.name != other.name, "two sandboxes on one host keep a cookie each"
    for given in (
        f"{cookie.name}={other.value}", f"{cookie.name}={TOKEN}", f"{cookie.name}=", "=;=", "\xff\xfe=1",
    ):  # fmt: skip
        assert browser.get("/picture", headers={"cookie": given.encode("latin-1")}).status_code == 401, given


def test_without_a_token_the_page_is_open_to_this_machine_alone() -> None:
    """A name that was rebound to our address gets nothing; a token in the address is just left away."""
    with (
        embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator,
        httpx.Client(base_url=emulator.control, headers=BROWSER, trust_env=False) as browser,
    ):
        answer = browser.get("/")
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert 'href="/docs"' in answer.text
        assert 'href="/learn"' in answer.text
        assert browser.get("/", headers={"host": "evil.example"}).status_code == 403
        assert browser.get("/picture", headers={"origin": "http://evil.example"}).status_code == 403
        led = browser.get("/?token=x")
        assert (led.status_code, "set-cookie" in led.headers) == (303, False)
