"""Who gets the screens in a browser: the rule of the sandbox's own ports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.tui.test_serving import free_port
from tests.waiting import wait_until_served

pytest.importorskip("textual_serve", reason="the serve extra is not installed")

SECRET = "not-to-be-guessed"


def served(code: str, port: int) -> Iterator[str]:
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL) as server:
        wait_until_served(url)
        try:
            yield url
        finally:
            # Asked to end, it waits a minute for connections that nobody closes.
            server.kill()


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    port = free_port()
    yield from served(f"from tui.browser.serving import serve; serve('http://127.0.0.1:1', {port})", port)


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    port = free_port()
    call = f"serve('http://127.0.0.1:1', {port}, token={SECRET!r})"
    yield from served(f"from tui.browser.serving import serve; {call}", port)


def silent(answer: httpx.Response) -> bool:
    return (answer.status_code, answer.content, dict(answer.headers)) == (403, b"", {"content-length": "0"})


def handshake(url: str, **headers: str) -> int:
    at = httpx.URL(url)
    asked = f"ws://{headers.pop('host', at.netloc.decode())}/ws"
    try:
        with connect(asked, proxy=None, additional_headers=headers, address=(at.host, at.port)):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "evil.example:8000", "origin": "http://evil.example:8000"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/static/js/textual.js", "/nothing"])
def test_pages_of_elsewhere_get_nothing(page: str, path: str, headers: dict[str, str]) -> None:
    """Not even whether there is something."""
    assert silent(httpx.get(page + path, headers=headers, trust_env=False))
    assert silent(httpx.options(page + path, headers=headers, trust_env=False))


def test_no_page_of_elsewhere_gets_a_terminal(page: str) -> None:
    """Over the socket all keys can be pressed."""
    assert handshake(page, origin="http://evil.example") == 403
    assert handshake(page, origin="http://evil.example", host="evil.example") == 403
    assert handshake(page, origin=page) == 101


def test_the_page_loads_what_it_needs_by_the_name_it_was_called(page: str) -> None:
    """Under localhost as well as under its address, so that nothing of it comes from elsewhere."""
    local = page.replace("127.0.0.1", "localhost")
    for url in (page, local):
        text = httpx.get(url, trust_env=False).text
        assert 'src="/static/' in text
        assert f"{url.replace('http', 'ws')}/ws" in text


def test_with_a_token_the_page_is_for_who_has_it(guarded: str) -> None:
    """Given once in the address, it is kept in a cookie; the token itself is not in it."""
    with httpx.Client(base_url=guarded, trust_env=False) as visitor:
        for path in ("/", "/?token=wrong", "/static/js/textual.js", "/ws"):
            assert visitor.get(path).status_code == 401
        assert handshake(guarded) == 401
        entered = visitor.get(f"/?token={SECRET}")
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        assert SECRET not in entered.headers["set-cookie"]
        assert "RDSS sandbox" in visitor.get("/").text
        cookie = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
    assert handshake(guarded, cookie=cookie) == 101
    # In a class the page is called by the teacher's machine's name.
    assert handshake(guarded, cookie=cookie, host="teacher.example") == 101
    assert handshake(guarded, cookie=cookie, origin="http://evil.example") == 403
    assert silent(httpx.get(guarded, headers={"host": "evil.example"}, trust_env=False))
