"""Recordings of a running sandbox, and what is told of replays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from emulator.assembly.component import Component
from extensions.tape.recording_resources import RecordingResources
from extensions.tape.replay_resource import ReplayResource

if TYPE_CHECKING:
    from emulator.assembly.components import Components


class TapeComponent(Component):
    """It keeps nothing: who records takes what passed, and writes it."""

    def __init__(self, components: Components) -> None:
        self._resources = (
            RecordingResources(components.infrastructure.recorder.wiretap),
            ReplayResource(components.events),
        )

    def resources(self) -> Sequence[object]:
        return self._resources
