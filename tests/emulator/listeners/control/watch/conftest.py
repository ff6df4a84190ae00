"""The watch page's control room in a Chromium, and a terminal beside it in which its commands are typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from sandbox.control.scenarios import ScenarioResources
from tests.chromium import Tab, open_tab

_SHOWN_COMMAND = "document.querySelector('#command').textContent"


@dataclass(frozen=True)
class Seat:
    """A sandbox with scenarios, its client, and a terminal in a directory of its own."""

    running: Embedded
    client: Client
    directory: Path

    def type(self, command: str) -> str:
        """Type a command as it is shown, into a shell; return what it prints."""
        programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": programs, "SANDBOX_CONTROL": self.running.control}
        ran = subprocess.run(
            ["sh", "-c", command],
            cwd=self.directory,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert ran.returncode == 0, f"{command}: {ran.stderr}"
        return ran.stdout


@dataclass(frozen=True)
class Room:
    """The control room of a page, worked by mouse."""

    tab: Tab
    seat: Seat

    def turn_to(self, panel: str) -> None:
        self.tab.click_on(f"#tab-{panel}")
        self.tab.wait(f"!document.querySelector('#panel-{panel}').hidden")
        self.tab.wait(f"document.querySelector('#panel-{panel}').hasChildNodes()")

    def fill(self, **fields: str) -> None:
        """Write into fields of the panel in front, as typing does."""
        for name, value in fields.items():
            field = f"document.querySelector('.panel:not([hidden]) [name={json.dumps(name)}]')"
            self.tab.eval(
                f"(() => {{ const field = {field}; field.value = {json.dumps(value)};"
                "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
            )

    def press(self, label: str, within: str = "") -> tuple[str, str]:
        """Click a button of the panel in front by its label; return the command and the outcome shown."""
        find = (
            f"[...document.querySelectorAll('.panel:not([hidden]) {within} button')].find((each) => "
            f"each.textContent === {json.dumps(label)} && each.checkVisibility())"
        )
        self.tab.wait(f"Boolean({find}) && !{find}.disabled")
        self.tab.eval("document.querySelector('#outcome').textContent = ''")
        self.tab.eval(f"{find}.setAttribute('data-pressed', '')")
        self.tab.click_on("[data-pressed]")
        self.tab.wait("document.querySelector('#outcome').textContent !== ''")
        self.tab.eval("document.querySelector('[data-pressed]')?.removeAttribute('data-pressed')")
        return self.tab.eval(_SHOWN_COMMAND), self.outcome

    def press_twice(self, label: str, warning: str) -> tuple[str, str]:
        """Press a button that warns, and press it again as what it warns of."""
        find = "[...document.querySelectorAll('.panel:not([hidden]) li .do')]"
        at = self.tab.eval(f"{find}.findIndex((each) => each.textContent === {json.dumps(label)})")
        self.tab.eval(f"{find}[{at}].setAttribute('data-warns', '')")
        self.tab.click_on("[data-warns]")
        assert self.tab.eval("document.querySelector('[data-warns]').textContent") == warning
        self.tab.eval("document.querySelector('[data-warns]').removeAttribute('data-warns')")
        return self.press(warning)

    @property
    def outcome(self) -> str:
        return str(self.tab.eval("document.querySelector('#outcome').textContent"))

    @property
    def refused(self) -> bool:
        return bool(self.tab.eval("document.querySelector('#outcome').classList.contains('bad')"))

    def wait_for_command(self, command: str) -> None:
        self.tab.wait(f"({_SHOWN_COMMAND}) === {json.dumps(command)}")


@contextmanager
def _seat(directory: Path, **values: Any) -> Iterator[Seat]:
    directory.mkdir()
    settings = Settings(aws_port=0, control_port=0, data_dir=None, seed=7, **values)
    more = [lambda parts: ScenarioResources(parts.events, directory / "runs")]
    with embedded(settings, more=more) as running, Client(running.control, token=settings.token) as client:
        yield Seat(running, client, directory)


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    """The sandbox of the page."""
    with _seat(tmp_path / "page") as seat:
        yield seat


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Seat]:
    """A second sandbox, in which the commands that the page shows are typed."""
    with _seat(tmp_path / "terminal") as seat:
        yield seat


@pytest.fixture
def make_seat(tmp_path: Path) -> Callable[..., Any]:
    return lambda **values: _seat(tmp_path / "made", **values)


@pytest.fixture
def room(browser: str, seat: Seat) -> Iterator[Room]:
    """The open control room. Nothing in it goes wrong that the page's console has to tell of."""
    with open_tab(browser) as tab:
        tab.size(1280, 900)
        tab.open(f"{seat.running.control}/")
        tab.wait("document.querySelector('#state').textContent === 'live'")
        tab.click_on("#act")
        tab.wait("Boolean(document.querySelector('.tabs'))")
        yield Room(tab, seat)
        assert [each for each in tab.problems if "status of 4" not in each] == []


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seat]:
    """A sandbox with a token."""
    with _seat(tmp_path_factory.mktemp("guarded") / "seat", token="not-to-be-guessed") as seat:
        yield seat
