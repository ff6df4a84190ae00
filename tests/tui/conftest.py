"""The TUI over a canned sandbox, driven by key presses."""

from __future__ import annotations

import pytest

from tests.tui.canned import Canned


@pytest.fixture
def canned() -> Canned:
    return Canned()


@pytest.fixture(autouse=True)
def _what_is_said_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notice is there for as long as the test runs: it counts real seconds, however slow the machine."""
    monkeypatch.setattr("textual.notifications.Notification.time_left", 3600.0)
