"""The watch page in a real Chromium, over a real sandbox with real clients, faults and messages in it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.streams import Reshard
from tests.chromium import Tab, open_tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

LIVE = "document.querySelector('#state').textContent === 'live'"
CONTRASTS = """
(() => {
  const channels = (text) => {
    const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1});
    const context = canvas.getContext('2d');
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((each) => each / 255)
    .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = channels(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255, 255];
  };
  const written = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility() &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  return written.map((element) => {
    const shades = [channels(getComputedStyle(element).color), ground(element)].map(light);
    const contrast = (Math.max(...shades) + 0.05) / (Math.min(...shades) + 0.05);
    return [contrast, element.className, element.textContent];
  });
})()
"""
"""The contrast (WCAG 2.2) of every element with text of its own, with what it is."""
UNNAMED = """
[...document.querySelectorAll('button, a, section, [role], dialog')].filter((element) =>
  !(element.getAttribute('aria-label') || element.getAttribute('aria-live') || element.textContent.trim() ||
    element.getAttribute('role') === 'status' ||
    document.getElementById(element.getAttribute('aria-labelledby'))?.textContent))
  .map((element) => element.outerHTML)
"""
"""What a screen reader would have no name for."""


@pytest.fixture
def sandbox() -> Iterator[Embedded]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, seed=7)) as running:
        yield running


@pytest.fixture
def client(sandbox: Embedded) -> Iterator[Client]:
    with Client(sandbox.control) as client:
        yield client


def kinesis(sandbox: Embedded) -> Any:
    keys = {"aws_access_key_id": "trainee", "aws_secret_access_key": "x", "region_name": "us-east-1"}
    return boto3.client("kinesis", endpoint_url=sandbox.aws, **keys)


def put(sandbox: Embedded, count: int, stream: str = "input", data: bytes = b"x") -> None:
    entries = [{"Data": data, "PartitionKey": str(number)} for number in range(count)]
    kinesis(sandbox).put_records(StreamName=stream, Records=entries)


def text(selector: str) -> str:
    return f"document.querySelector({json.dumps(selector)})?.textContent"


def contains(selector: str, said: str) -> str:
    return f"{text(selector)}?.includes({json.dumps(said)})"


def watch(tab: Tab, sandbox: Embedded) -> None:
    tab.open(f"{sandbox.control}/")
    tab.wait(LIVE)


def test_what_happens_in_the_sandbox_shows_on_the_page(
    browser: str, sandbox: Embedded, client: Client
) -> None:
    """Lanes, splits and merges, readers, strikes, findings and errors, as they happen, without a reload."""
    with open_tab(browser) as tab:
        watch(tab, sandbox)
        put(sandbox, 40)
        tab.wait(contains("[data-key=input] .figures", "40 records"))

        client.reshard("input", Reshard("split", "0"))
        client.reshard("input", Reshard("merge", "2", "3"))
        tab.wait(contains("[data-key=input] .rows", "shard 4"))
        lines = tab.eval(
            "[...document.querySelectorAll('[data-key=input] path')]"
            ".map((each) => each.dataset.from.slice(-1) + each.dataset.to.slice(-1)).sort().join(' ')"
        )
        assert lines == "02 03 24 34"
        boxes = tab.eval(
            "Object.fromEntries([...document.querySelectorAll('[data-key=input] .shard')].map((each) => "
            "[each.textContent, [each.offsetLeft, each.offsetTop, each.offsetHeight]]))"
        )
        assert boxes["0"][0] < boxes["2"][0] == boxes["3"][0] < boxes["4"][0], "a generation after the other"
        assert boxes["2"][1] < boxes["3"][1] < boxes["1"][1], "in the order of the hash keys"
        assert abs(boxes["2"][2] * 2 - boxes["0"][2]) <= 3, "halves of what was split"

        reading = kinesis(sandbox)
        shard = "shardId-000000000001"
        begun = reading.get_shard_iterator(
            StreamName="input", ShardId=shard, ShardIteratorType="TRIM_HORIZON"
        )
        reading.get_records(ShardIterator=begun["ShardIterator"], Limit=3)
        unread = client.stream("input").shards[1].records - 3
        tab.wait(contains(f"[data-key=input] [data-key='{shard}'] .reader.behind", f"{unread} behind"))
        assert tab.eval(contains(f"[data-key='{shard}'] .reader", "trainee"))

        client.add_fault(NewFault("duplicate", name="twice", toxicity=1))
        tab.wait(contains("#faults [data-key=twice]", "duplicate"))
        tab.eval(
            "window.lit = []; new MutationObserver((all) => all.forEach(({target}) => "
            "target.matches('.struck') && lit.push(target.closest('[data-key]').dataset.key)))"
            ".observe(document.body, {subtree: true, attributeFilter: ['class']})"
        )
        put(sandbox, 1)
        tab.wait("lit.includes('twice') && lit.includes('input')")
        tab.wait("!document.querySelector('.struck')")
        assert tab.eval("!lit.includes('output')")

        refused = {"messageHeader": {"messageId": "0b1e4a5c-9", "errorCode": "GENERR004"}}
        put(sandbox, 1, "invalid", json.dumps(refused).encode())
        tab.wait(contains("#error .line", "GENERR004, A message header is invalid"))
        hostile = "<img src=x onerror=window.broken=1><script>window.broken=1</script>"
        sandbox.components.events.emit(
            "client.finding", rule="r", harm="loses", client=hostile, stream="input", shard=None,
            said=f"{hostile} reads no child", advice="Follow the children.", evidence={}, faults=(),
        )  # fmt: skip
        tab.wait(contains("#findings", f"{hostile} reads no child"))
        tab.wait(contains("#told", "reads no child"))
        assert tab.eval("window.broken === undefined && !document.querySelector('img')")

        client.reset()
        tab.wait(
            "!document.querySelector('#faults li') && !document.querySelector('#error .line').textContent"
        )
        assert tab.problems == [], (
            "nothing was refused by the content security policy, no error in the console"
        )


def test_every_word_can_be_read_from_the_back(browser: str, sandbox: Embedded, client: Client) -> None:
    """A contrast of 7 to 1 in both themes, also when a fault strikes; nothing is wider than the screen."""
    client.add_fault(NewFault("duplicate", name="twice", toxicity=1))
    put(sandbox, 5)
    client.reshard("input", Reshard("split", "0"))
    put(sandbox, 1, "error")
    with open_tab(browser) as tab:
        watch(tab, sandbox)
        tab.eval(
            "for (const each of document.querySelectorAll('.fault, .title')) each.classList.add('struck')"
        )
        for theme in ("dark", "light"):
            tab.eval(f"document.documentElement.dataset.theme = '{theme}'")
            contrasts = tab.eval(CONTRASTS)
            assert len(contrasts) > 30
            assert [each for each in contrasts if each[0] < 7] == [], theme
        assert tab.eval(UNNAMED) == []
        assert tab.eval("parseFloat(getComputedStyle(document.body).fontSize)") >= 20
        for width in (1920, 1024, 400):
            tab.size(width, 800)
            assert tab.eval("document.documentElement.scrollWidth <= innerWidth"), width


def test_it_works_by_keyboard(browser: str, sandbox: Embedded) -> None:
    """Each key of the list does what the list says; what is set stays for the next visit."""
    put(sandbox, 1)
    with open_tab(browser) as tab:
        watch(tab, sandbox)
        for key, section in {
            "s": "streams",
            "e": "error",
            "f": "faults",
            "d": "findings",
            "n": "news",
        }.items():
            tab.key(key)
            assert tab.eval("document.activeElement.id") == section
        tab.key("1")
        assert tab.eval("document.activeElement.dataset.key") == "input"
        shown = "[...document.querySelectorAll('.stream')].filter((each) => each.checkVisibility()).length"
        tab.key("o")
        assert tab.eval(shown) == 1
        tab.key("o")
        assert tab.eval(shown) == 5
        tab.key("h")
        assert tab.eval(text("#state")) == "held"
        put(sandbox, 7)
        tab.wait("view.picture.streams[0].put === 8")
        assert tab.eval(contains("[data-key=input] .figures", "1 record"))
        tab.key("h")
        assert tab.eval(contains("[data-key=input] .figures", "8 records"))
        dark = "matchMedia('(prefers-color-scheme: dark)').matches"
        themes = ["light", "dark"] if tab.eval(dark) else ["dark", "light"]
        for theme in [*themes, themes[0]]:
            tab.key("t")
            assert tab.eval("document.documentElement.dataset.theme") == theme
        before = tab.eval("parseFloat(getComputedStyle(document.body).fontSize)")
        tab.key("+")
        assert tab.eval("parseFloat(getComputedStyle(document.body).fontSize)") > before
        tab.key("?")
        assert tab.eval("document.querySelector('#keys').open")
        watch(tab, sandbox)
        assert tab.eval("document.documentElement.dataset.theme") == themes[0]
        assert tab.eval("parseFloat(getComputedStyle(document.body).fontSize)") > before
        tab.eval("localStorage.clear()")


def test_it_says_that_the_sandbox_is_gone_and_goes_on_when_it_is_back(browser: str) -> None:
    """What was last seen stays; a sandbox that starts again at the same address is shown at once."""
    with ExitStack() as stack:
        first = stack.enter_context(embedded(Settings(aws_port=0, control_port=0, data_dir=None)))
        port = int(first.control.rpartition(":")[2])
        with open_tab(browser) as tab:
            put(first, 3)
            watch(tab, first)
            stack.close()
            tab.wait(contains("#state", "no answer since"))
            assert tab.eval(contains("[data-key=input] .figures", "3 records"))
            with embedded(Settings(aws_port=0, control_port=port, data_dir=None)):
                tab.wait(LIVE)
                tab.wait(contains("[data-key=input] .figures", "empty"))


@contextmanager
def _other_site(page: str) -> Iterator[str]:
    """A web site of its own with one page."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def test_with_a_token_the_printed_address_opens_it_and_no_other_page_does(browser: str) -> None:
    """The token is not in the address bar afterwards; a page elsewhere can neither frame nor read it."""
    # Cookies are of a host and not of a port: with the token of another test the page would be open at once.
    settings = Settings(aws_port=0, control_port=0, data_dir=None, token="of-this-test-alone")
    with embedded(settings) as sandbox, open_tab(browser) as tab:
        tab.open(f"{sandbox.control}/")
        assert "sandbox watch" in tab.eval("document.body.innerText")
        tab.open(f"{sandbox.control}/?token=of-this-test-alone", lands_at=f"{sandbox.control}/")
        tab.wait(LIVE)
        assert tab.eval("document.cookie") == ""
        status = "fetch('/reset', {method: 'POST'}).then((answer) => answer.status)"
        assert tab.eval(status) == 401
        with _other_site(f"<iframe src='{sandbox.control}/'></iframe>") as elsewhere:
            tab.open(elsewhere)
            asked = f"fetch('{sandbox.control}/picture', {{credentials: 'include'}})"
            read = f"{asked}.then(() => 'read', () => 'failed')"
            assert tab.eval(read) == "failed"
            refused = [e for e in sandbox.components.events.since() if e.kind == "request.refused"]
            assert refused


def test_over_tls_it_is_live_by_http2(browser: str) -> None:
    """A token's cookie, live answers and what the page asks work as without; the page says no error."""
    settings = Settings(
        aws_port=0, control_port=0, data_dir=None, tls="self-signed", token="not-to-be-guessed"
    )
    with embedded(settings) as sandbox, open_tab(browser) as tab:
        tab.call("Security.setIgnoreCertificateErrors", ignore=True)
        tab.open(f"{sandbox.control}/?token=not-to-be-guessed", lands_at=f"{sandbox.control}/")
        tab.wait(LIVE)
        assert tab.eval("performance.getEntriesByType('navigation')[0].nextHopProtocol") == "h2"
        trust = sandbox.components.trust
        with Client(sandbox.control, token="not-to-be-guessed", trust=trust) as client:
            client.reshard("input", Reshard("split", "0"))
        tab.wait(contains("[data-key=input] .rows", "shard 3"))
        assert tab.problems == []


def test_a_picture_of_it(browser: str, sandbox: Embedded, client: Client, tmp_path: Path) -> None:
    """What Chromium draws differs when a shard is split: the lanes are drawn, and are not only there."""
    with open_tab(browser) as tab:
        put(sandbox, 1)
        watch(tab, sandbox)
        before = tab.picture()
        client.reshard("input", Reshard("split", "0"))
        tab.wait(contains("[data-key=input] .rows", "shard 3"))
        after = tab.picture()
        (tmp_path / "watch.png").write_bytes(after)
        assert after != before
        assert len(after) > 40_000
