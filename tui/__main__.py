"""``python -m tui --control URL``: the TUI on its own, against the control API of any sandbox."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rdss_sandbox.machine.installation import how_to_add
from tui.keys.preferences import Preferences, read

if TYPE_CHECKING:
    from tui.themed_app import ThemedApp

USAGE, ENVIRONMENT = 2, 3
_BEHIND_A_SERVER = "TEXTUAL_DRIVER"
"""The variable that textual-serve sets for the process that it talks to over pipes."""


def preferences_path() -> Path:
    """The preferences file: ``rdss-sandbox/tui.toml`` in the user's configuration folder."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "rdss-sandbox" / "tui.toml"


def run(control: str, token: str | None = None) -> int:
    """Show the sandbox whose control API is at ``control`` until the user quits. Returns the exit code."""

    def create_app(preferences: Preferences) -> ThemedApp:
        from rdss_sandbox.client import AsyncClient
        from tui.app import SandboxApp

        return SandboxApp(AsyncClient(control, token=token), preferences)

    return _run_app(create_app)


def run_recorded(folder: Path) -> int:
    """Show the recorded run in ``folder`` until the user leaves. Returns the exit code."""

    def create_app(preferences: Preferences) -> ThemedApp:
        from tui.recording_app import RecordingApp
        from tui.state.recording import read_recording

        return RecordingApp(read_recording(folder), preferences)

    return _run_app(create_app)


def _run_app(create_app: Callable[[Preferences], ThemedApp]) -> int:
    if find_spec("textual") is None:
        return _report_error(f"the TUI needs textual; get it with: {how_to_add('tui')}", ENVIRONMENT)
    try:
        app = create_app(read(preferences_path()))
    except ValueError as error:  # preferences or a recording that cannot be read
        return _report_error(str(error), USAGE)
    if _BEHIND_A_SERVER not in os.environ and not _in_a_terminal():
        why = "the TUI needs a terminal for its input and output; sandbox tui --serve shows it in a browser"
        return _report_error(why, ENVIRONMENT)
    tune_garbage_collection()
    app.run()
    return app.return_code or 0


def _in_a_terminal() -> bool:
    # Textual draws on standard error.
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    return all(stream is not None and stream.isatty() for stream in streams)


def tune_garbage_collection() -> None:
    """Collect garbage rarely and never scan imported modules; a full collection delayed a frame by 0.1 s."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


def _report_error(why: str, code: int) -> int:
    sys.stderr.write(f"sandbox: {why}\n")
    return code


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tui", description="Look inside a running sandbox.")
    parser.add_argument("--control", default="http://127.0.0.1:4570", metavar="URL", help="its control API")
    parser.add_argument("--run", type=Path, metavar="DIR", help="open a recorded run instead")
    given = parser.parse_args()
    return run_recorded(given.run) if given.run else run(given.control, os.environ.get("SANDBOX_TOKEN"))


if __name__ == "__main__":
    sys.exit(main())
