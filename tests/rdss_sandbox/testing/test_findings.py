"""Findings about clients, where the control API has them."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from rdss_sandbox.client import Client
from rdss_sandbox.testing import NotDiagnosedError, Sandbox, findings

FOUND = SimpleNamespace(
    rule="shard-never-read", said="a child of a split was never read", advice="list them again"
)


def diagnosing(monkeypatch: pytest.MonkeyPatch, *answers: SimpleNamespace) -> None:
    """Have the control API answer so, one after the other."""
    left: Iterator[SimpleNamespace] = iter(answers)
    monkeypatch.setattr(Client, "diagnosis", lambda _client: next(left), raising=False)


def answer(*found: SimpleNamespace, complete: bool = True, known: bool = True) -> SimpleNamespace:
    return SimpleNamespace(findings=found, complete=complete, known=known)


def test_a_finding_fails_the_assertion_and_is_in_the_report(
    kit: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its rule, what it is and what to do, once all records were looked through."""
    diagnosing(monkeypatch, answer(complete=False), answer(FOUND), answer(), answer(FOUND))
    sentence = "shard-never-read: a child of a split was never read; list them again"
    with pytest.raises(AssertionError, match=f"findings about clients of the sandbox: 1\\n  {sentence}"):
        kit.assert_no_findings()
    kit.assert_no_findings()
    assert f"findings:\n  {sentence}\nlast events:" in kit.report()


def test_what_cannot_be_judged_is_no_pass(kit: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams of an upstream, records that take too long, and a sandbox that knows no diagnosis."""
    monkeypatch.setattr(findings, "_COMPLETE_SECONDS", 0.0)
    diagnosing(monkeypatch, answer(known=False), answer(complete=False), answer(known=False))
    with pytest.raises(NotDiagnosedError, match="an upstream has the streams"):
        kit.assert_no_findings()
    with pytest.raises(NotDiagnosedError, match="not all records"):
        kit.assert_no_findings()
    assert "findings" not in kit.report()
    monkeypatch.delattr(Client, "diagnosis")
    if not hasattr(Client, "diagnosis"):
        with pytest.raises(NotDiagnosedError, match="does not diagnose"):
            kit.assert_no_findings()
