"""What events say to people who watch and to readers of the TUI, of what really happens."""

from __future__ import annotations

from emulator.assembly.embedded import Embedded
from emulator.listeners.control.watch.sentences import describe
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.messages import NewMessage
from rdss_sandbox.shapes.streams import Reshard
from tests.emulator.listeners.control.conftest import api, emulator, http
from tui.text.narration import sentence

__all__ = ["api", "emulator", "http"]


def live(api: Client) -> None:
    """Have one thing of each kind happen that a person does to a sandbox."""
    api.add_fault(NewFault("duplicate", name="twice", channel="input", when={"first": 1}))
    api.send(NewMessage("input", b"{}", "k"))
    api.reshard("input", Reshard("split", "shardId-000000000000"))
    api.snapshots.save("lesson")
    for change in (ClockChange("freeze"), ClockChange("advance", seconds=360.0), ClockChange("real")):
        api.change_clock(change)
    api.remove_fault("twice")
    api.snapshots.load("lesson")
    api.snapshots.remove("lesson")
    api.reset()


def test_nothing_is_missing_in_what_is_said(emulator: Embedded, api: Client) -> None:
    """Each sentence finds in its event the fields that it names."""
    live(api)
    events = emulator.components.events
    happened = list(events.since(0, events.last))
    assert {"snapshot.loaded", "snapshot.removed", "clock.changed", "sandbox.reset"} <= {
        each.kind for each in happened
    }
    said = [sentence(each, {}) for each in happened]
    said += [found.said for each in happened if (found := describe(each, {}))]
    assert [each for each in said if "None" in each or "?" in each] == []
