"""The app that shows a recorded run without a sandbox."""

from __future__ import annotations

from tui.keys.preferences import Preferences
from tui.screens.run_player import RunScreen
from tui.state.recording import Recording
from tui.themed_app import ThemedApp


class RecordingApp(ThemedApp):
    """An app with one screen, which plays ``recording``."""

    def __init__(self, recording: Recording, preferences: Preferences) -> None:
        super().__init__(preferences)
        self._recording = recording

    def get_default_screen(self) -> RunScreen:
        return RunScreen(self._recording)
