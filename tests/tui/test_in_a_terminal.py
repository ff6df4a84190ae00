"""The TUI in a real terminal, its keys sent from outside."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from tests.waiting import wait_until

pytestmark = pytest.mark.terminal

PATIENCE_SECONDS = 60.0
CHECKOUT = Path(__file__).parents[2]


class Terminal:
    """A terminal of 80x24 with the TUI in it."""

    def __init__(self, directory: Path, command: list[str]) -> None:
        self._tmux = ["tmux", "-S", str(directory / "tmux"), "-f", "/dev/null"]
        environment = ["env", f"XDG_CONFIG_HOME={directory}", f"PYTHONPATH={CHECKOUT}", "COLORTERM=truecolor"]
        self._run("new-session", "-d", "-x", "80", "-y", "24", *environment, *command)

    def press(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def text(self) -> str:
        """What stands on the screen."""
        return self._run("capture-pane", "-p")

    def until(self, holds: Callable[[str], bool]) -> str:
        """Wait until the screen is so; fails with what it shows when it never is."""

        def look() -> str | None:
            shown = self.text()
            return shown if holds(shown) else None

        return wait_until(look, seconds=PATIENCE_SECONDS, shown=self.text)

    @property
    def there(self) -> bool:
        listed = subprocess.run([*self._tmux, "list-sessions"], capture_output=True, check=False)
        return listed.returncode == 0

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)

    def _run(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True)
        return done.stdout


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """The TUI in front of a sandbox of its own, in a terminal."""
    with embedded(Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)) as emulator:
        shown = Terminal(tmp_path, [sys.executable, "-m", "tui", "--control", emulator.control])
        yield shown
        shown.close()


def test_keys_work_in_a_terminal(terminal: Terminal) -> None:
    """A shard is split, the faults are looked at, the help is opened, the TUI is left."""
    terminal.until(lambda text: "▾ input" in text and "no messages" in text)
    terminal.press("BTab")
    terminal.press("S")
    terminal.until(lambda text: "$ sandbox reshard split audit" in text and "├ ● 0001" in text)
    terminal.press("f")
    terminal.until(lambda text: "5 Faults" in text and "no fault in force" in text)
    terminal.press("?")
    terminal.until(lambda text: "Filter language" in text)
    terminal.press("Escape")
    terminal.until(lambda text: "no fault in force" in text)
    terminal.press("q")
    wait_until(lambda: not terminal.there, seconds=PATIENCE_SECONDS)
