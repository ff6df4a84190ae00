"""``sandbox snapshot``: save, load, list, remove."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault

Ask = Callable[..., Any]


def test_a_snapshot_is_saved_listed_loaded_and_removed(ask: Ask, emulator: Any) -> None:
    """Each command says in a sentence what happened."""
    saved = ask("snapshot", "save", "lesson-1")
    assert saved.out.startswith("saved lesson-1: 0 records in streams, ")
    with Client(emulator.control) as control:
        control.add_fault(NewFault("throttle", name="mine"))
        listed = ask("snapshot", "list")
        assert listed.out.splitlines()[1].split()[0] == "lesson-1"
        assert "start it with --data-dir to keep them" in listed.err
        loaded = ask("snapshot", "load", "lesson-1")
        assert loaded.out.startswith("loaded lesson-1, as it was saved at 20")
        assert control.faults() == ()
    assert ask("snapshot", "remove", "lesson-1").out == "removed lesson-1\n"
    assert json.loads(ask("snapshot", "list", "--json").out) == {"snapshots": [], "folder": None}


def test_what_cannot_be_is_one_line(ask: Ask) -> None:
    """Exit code 2, and what to do."""
    for arguments, why in (
        (("load", "nothing"), "no snapshot is named 'nothing'; there are: none"),
        (("save", "../up"), "is no name for a snapshot: use up to 100 letters"),
        (("remove", "nothing"), "no snapshot is named 'nothing'"),
    ):
        refused = ask("snapshot", *arguments)
        assert (refused.code, len(refused.err.splitlines()), refused.out) == (2, 1, "")
        assert why in refused.err


@pytest.mark.parametrize("command", [("snapshot", "save"), ("snapshot", "load"), ("snapshot", "remove")])
def test_an_empty_name_is_refused_in_a_line(command: tuple[str, str], ask: Ask) -> None:
    """It is not sent: the path would be that of all of them."""
    ran = ask(*command, "")
    assert ran.code == 2
    assert ran.err.startswith("sandbox: the name must not be empty")
