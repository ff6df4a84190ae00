"""``sandbox watch``: the address of the page, and the browser that opens it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from sandbox.cli import main
from tests.sandbox.cli.conftest import Ran


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A browser that writes down what it is to open."""
    program, told = tmp_path / "browser", tmp_path / "opened"
    program.write_text(f'#!/bin/sh\necho "$1" > {told}\n')
    program.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{program} %s")
    return told


def test_it_prints_the_address_and_opens_it(
    emulator: Embedded, ask: Callable[..., Ran], opened: Path
) -> None:
    """The address is the control port's, and the page is there."""
    ran = ask("watch")
    assert (ran.code, ran.out, ran.err) == (0, f"{emulator.control}/\n", "")
    assert opened.read_text() == ran.out
    assert "Faults in force" in httpx.get(ran.out.strip(), trust_env=False).text


def test_it_only_prints_where_that_is_asked_for(ask: Callable[..., Ran], opened: Path) -> None:
    """--no-open, for scripts with --json."""
    printed = ask("watch", "--no-open")
    assert json.loads(ask("watch", "--no-open", "--json").out) == {"address": printed.out.strip()}
    assert not opened.exists()


def test_a_terminal_browser_is_not_started_unasked(
    ask: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On a machine without a display Python finds w3m or the like; it would take the terminal."""
    browser, started = tmp_path / "bin" / "w3m", tmp_path / "started"
    browser.parent.mkdir()
    browser.write_text(f"#!/bin/sh\n: > {started}\n")
    browser.chmod(0o700)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("PATH", str(browser.parent))
    monkeypatch.setattr("webbrowser._tryorder", None)
    monkeypatch.setattr("webbrowser._browsers", {})
    ran = ask("watch")
    assert ran.code == 0
    assert "open the address in one" in ran.err
    assert not started.exists()


def test_with_a_token_the_address_opens_the_page(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever characters the token has; with a wrong one the command says so, and prints no address."""
    token = "a+b/c=&d#e"
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, token=token)) as emulator:
        monkeypatch.setenv("SANDBOX_TOKEN", token)
        assert main(["watch", "--no-open", "--control", emulator.control]) == 0
        address = capfd.readouterr().out.strip()
        with httpx.Client(trust_env=False, follow_redirects=True) as browser:
            page = browser.get(address)
        assert (page.status_code, str(page.url)) == (200, f"{emulator.control}/")
        monkeypatch.setenv("SANDBOX_TOKEN", "wrong")
        assert main(["watch", "--no-open", "--control", emulator.control]) != 0
        assert capfd.readouterr().out == ""


def test_without_a_sandbox_it_is_the_environment(sandbox: Callable[..., Ran]) -> None:
    """One line that says how to start one, exit code 3."""
    ran = sandbox("watch")
    assert (ran.code, ran.out) == (3, "")
    assert "sandbox up --detach" in ran.err
