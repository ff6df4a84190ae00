"""What the sandbox finds that clients do wrong, as ``sandbox diagnose`` tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdss_sandbox.questions.deadline import Deadline

if TYPE_CHECKING:
    from rdss_sandbox.client import Client

_COMPLETE_SECONDS: Final = 10.0
_LATER_SECONDS: Final = 90.0
"""More than any rule waits for a client: when a test asks, its clients have done what they will."""


class NotDiagnosedError(LookupError):
    """The sandbox cannot judge clients: an upstream has the streams, or there are too many records."""


def list_findings(client: Client) -> list[str]:
    """Each finding with its rule, and on a second line what to do. Raises ``NotDiagnosedError``."""
    deadline = Deadline(_COMPLETE_SECONDS)
    found = client.diagnosis(later=_LATER_SECONDS)
    while not found.complete and not deadline.passed:
        deadline.pause()
        found = client.diagnosis(later=_LATER_SECONDS)
    if not found.known or not found.complete:
        why = "an upstream has the streams" if not found.known else "not all records were looked through"
        raise NotDiagnosedError(f"clients cannot be diagnosed: {why}")
    return [f"{each.rule}: {each.said}\n  do: {each.advice}" for each in found.findings]


def assert_no_findings(client: Client) -> None:
    """Assert that no client did what the sandbox knows to be wrong. Raises ``NotDiagnosedError``."""
    __tracebackhide__ = True
    if found := list_findings(client):
        raise AssertionError("\n".join(["clients of the sandbox did what is wrong:", *found]))
