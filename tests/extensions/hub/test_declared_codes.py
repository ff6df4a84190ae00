"""The codes with which the hub's own API refuses are those that its endpoints declare."""

from __future__ import annotations

import ast
from pathlib import Path

from extensions.hub import hub_resources
from extensions.hub.hub_api import HubRequests, HubSeats
from rdss_sandbox.api.endpoint import Endpoint
from tests.sandbox.control.test_declarations import refused_by


def test_the_hub_refuses_as_it_declares() -> None:
    """With the same status."""
    tree = ast.parse(Path(hub_resources.__file__).read_text(encoding="utf-8"))
    raised = {refused for node in ast.walk(tree) if (refused := refused_by(node)) is not None}
    members = [member for subject in (HubSeats, HubRequests) for member in vars(subject).values()]
    declared = {code for each in members if isinstance(each, Endpoint) for code in each.errors.items()}
    assert raised == declared != set()
