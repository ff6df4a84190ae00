"""The page about the control API, which a person reads."""

from __future__ import annotations

import re
import shlex
import subprocess
from html import unescape

import httpx
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.listeners.control.api_page import render_page
from emulator.listeners.control.openapi import describe_api
from emulator.settings.settings import Settings
from rdss_sandbox.api.endpoint import GET, Mode, Subject
from rdss_sandbox.shapes.status import Health


def test_it_has_every_endpoint_that_is_served(http: httpx.Client) -> None:
    """With its summary, its parameters, its shapes and its refusals, as OpenAPI has them."""
    answer = http.get("/docs")
    text = unescape(re.sub(r"<[^>]*>", "", answer.text))
    description = http.get("/openapi.json").json()

    assert answer.headers["content-type"].startswith("text/html")
    operations = [
        (f"{method.upper()} {at}", operation)
        for at, each in description["paths"].items()
        for method, operation in each.items()
    ]
    assert len(operations) > 50
    for name, operation in operations:
        assert f"\n{name} " in text
        assert operation["summary"].replace("``", "") in text
    for name in description["components"]["schemas"]:
        assert f'id="{name}"' in answer.text
    assert "no_such_fault" in text
    assert set(re.findall(r'href="#([^"]*)"', answer.text)) <= set(re.findall(r'id="([^"]*)"', answer.text))


def test_it_needs_nothing_from_elsewhere(http: httpx.Client) -> None:
    """No script, no font and no style of another place; the browser is told to load none."""
    answer = http.get("/docs")
    assert not re.search(r"<script\s|<img|@import|url\(|(src|href)=[\"']?(https?:)?//", answer.text)
    assert set(re.findall(r"<link [^>]*href=.(.....)", answer.text)) == {"data:"}
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_its_lines_of_curl_do_what_they_say(emulator: Embedded, http: httpx.Client) -> None:
    """Each line for an endpoint without a variable is copied to a shell: it is answered, at this address."""
    lines = [
        unescape(line) for line in re.findall(r"^(?:<pre>)?(curl .*)$", http.get("/docs").text, re.MULTILINE)
    ]
    run = [line for line in lines if not re.search(r"/[A-Z]+", line) and "/reset" not in line]
    assert len(run) > 30
    for line in run:
        assert emulator.control in line
        words = shlex.split(line)
        asked = [*words, "-sS", "--noproxy", "*", "--max-time", "30", "-w", "\n%{http_code}"]
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        # Nothing can be pruned, and no sandbox is downstream, by the least that can be asked.
        assert said[-3] == "2" or (
            line.partition("4")[0] and re.search("nothing_to_prune|bad_downstream", said)
        ), line


class Hostile(Subject[Mode], at="/<b>"):
    """Shows ``<script>alert(1)</script>``."""

    @GET("/{name}")
    def read(self, *, name: str = "<img src=x onerror=alert(2)>") -> Health:
        """Read "<i>this</i>" & that."""


def test_text_is_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a declaration or a Host header says, it is shown and not obeyed."""
    monkeypatch.setattr("emulator.listeners.control.openapi.SUBJECTS", {Hostile: "<u>client</u>"})
    page = render_page(describe_api([Hostile.read], "<s>1</s>", "http://<h1>host</h1>"))

    tags = {tag.lower() for tag in re.findall(r"<(\w+)", page)}
    assert not tags & {"b", "i", "img", "u", "s"}
    assert page.count("<script") == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert page.count("<h1>") == 1


def test_it_is_guarded_as_the_rest_of_the_port() -> None:
    """A sandbox with a token asks for it, and a page of another site is refused."""
    settings = Settings(aws_port=0, control_port=0, data_dir=None, token="secret")
    with embedded(settings) as emulator, httpx.Client(base_url=emulator.control, trust_env=False) as asking:
        for path in (
            "/",
            "/watch.js",
            "/picture",
            "/learn",
            "/learn.js",
            "/docs",
            "/openapi.json",
        ):
            assert asking.get(path).status_code == 401
            headers = {"authorization": "Bearer secret"}
            assert asking.get(path, headers=headers).status_code == 200
            assert asking.get(path, headers={**headers, "origin": "http://evil.example"}).status_code == 403
