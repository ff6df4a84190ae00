"""Processing in a sandbox in which something of everything is kept."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.assembly.embedded import Embedded
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.processing import NewAsyncMessage, Script
from tests.extensions.parts import Part


class ProcessingPart(Part):
    def fill(self, emulator: Embedded) -> None:
        with Client(emulator.control) as control:
            control.processing.script("repository", Script(("slow 2s", "500")))
        _receive(emulator, "c-1")

    def change(self, emulator: Embedded) -> None:
        _receive(emulator, "c-2")

    def read(self, control: Client) -> Mapping[str, object]:
        return {"asynchronous": [each.correlation for each in control.processing.search()]}


def _receive(emulator: Embedded, correlation: str) -> None:
    with Client(emulator.control) as control:
        control.processing.receive(NewAsyncMessage("metadata", "create", correlation=correlation, body="{}"))


PART = ProcessingPart()
