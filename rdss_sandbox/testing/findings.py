"""What the sandbox finds that clients do wrong, as ``sandbox diagnose`` tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdss_sandbox.deadline import Deadline

if TYPE_CHECKING:
    from rdss_sandbox.client import Client

_COMPLETE_SECONDS: Final = 10.0
_LATER_SECONDS: Final = 90.0
"""More than any rule waits for a client: when a test asks, its clients have done what they will."""


class NotDiagnosedError(LookupError):
    """The sandbox cannot judge clients: an upstream has the streams, or there are too many records."""


def list_findings(client: Client) -> list[str]:
    """A sentence for each finding, with its rule and what to do. Raises ``NotDiagnosedError``."""
    deadline = Deadline(_COMPLETE_SECONDS)
    found = client.diagnosis(later=_LATER_SECONDS)
    while not found.complete and not deadline.passed:
        deadline.pause()
        found = client.diagnosis(later=_LATER_SECONDS)
    if not found.known or not found.complete:
        why = "an upstream has the streams" if not found.known else "not all records were looked through"
        raise NotDiagnosedError(f"clients cannot be diagnosed: {why}")
    return [f"{each.rule}: {each.said}; {each.advice}" for each in found.findings]


def assert_no_findings(client: Client) -> None:
    """Assert that no client did what the sandbox knows to be wrong. Raises ``NotDiagnosedError``."""
    __tracebackhide__ = True
    if found := list_findings(client):
        told = "".join(f"\n  {each}" for each in found)
        raise AssertionError(f"findings about clients of the sandbox: {len(found)}{told}")
