"""Faults that a sandbox is started with."""

from __future__ import annotations

import re

import pytest

from emulator.assembly.components import build_components
from emulator.settings.setting_errors import SettingsError
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.faults import NewFault

FAULTS = (NewFault("duplicate", channel="input"), NewFault("latency", name="slow", direction="deliver"))


def test_they_are_in_force_from_the_start_and_again_after_a_reset() -> None:
    """Whatever was changed about them meanwhile, a reset begins as the sandbox began."""
    with build_components(Settings(data_dir=None, faults=FAULTS)) as parts:
        began = parts.fault_engine.list()
        assert [(fault.name, fault.type) for fault in began] == [
            ("duplicate", "duplicate"),
            ("slow", "latency"),
        ]
        parts.fault_engine.remove("slow")
        parts.fault_engine.add(NewFault("corrupt"))
        parts.reset()
        assert parts.fault_engine.list() == began


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (NewFault("duplicat"), "the fault duplicat (--fault, or the settings): no fault type"),
        (
            NewFault("latency", name="slow", attributes={"delay": "soon"}),
            "the fault slow (--fault, or the settings)",
        ),
    ],
)
def test_one_that_cannot_be_keeps_the_sandbox_from_starting(fault: NewFault, why: str) -> None:
    """The message names it, and what would do."""
    with (
        pytest.raises(SettingsError, match=re.escape(why)),
        build_components(Settings(data_dir=None, faults=(fault,))),
    ):
        pass
