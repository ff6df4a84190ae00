"""What other people's Python sees of the package, and what comes with it."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files

import pytest

import rdss_sandbox

OURS = {"emulator", "sandbox", "schemas", "tui"}


def _loaded_by(code: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after ``code``."""
    script = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_everything_public_is_listed_and_there() -> None:
    """``__all__`` is sorted, and each name in it can be imported from the package itself."""
    assert rdss_sandbox.__all__ == sorted(rdss_sandbox.__all__)
    for name in rdss_sandbox.__all__:
        assert getattr(rdss_sandbox, name).__module__.startswith("rdss_sandbox.")
    assert files("rdss_sandbox").joinpath("py.typed").is_file()


def test_what_is_not_public_is_refused_by_name() -> None:
    """A misspelt name is told as Python tells it."""
    with pytest.raises(AttributeError, match="module 'rdss_sandbox' has no attribute 'Cleint'"):
        _ = rdss_sandbox.Cleint


def test_the_package_loads_nothing_else_of_ours() -> None:
    """Nothing public in it loads the emulator or the commands; alone it does not even load httpx."""
    every = f"import rdss_sandbox\nfor name in {rdss_sandbox.__all__}: getattr(rdss_sandbox, name)"
    assert not _loaded_by(every) & OURS
    assert not _loaded_by("import rdss_sandbox") & {*OURS, "httpx", "msgspec"}


def test_the_screens_load_no_emulator() -> None:
    """The TUI, with every screen, runs on the client alone."""
    assert _loaded_by("import tui.app, tui.recording_app") & OURS == {"tui"}
