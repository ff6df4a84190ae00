"""``sandbox certify`` passes the Java KCL; test_power.py of tests/sandbox/certify has the other clients."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.certify.clause import Group, Role
from sandbox.certify.trial import certify
from tests.real_clients.test_kcl import java
from tests.sandbox.certify.trials import build_trial

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(420)]

_FOLDER = Path(__file__).parent
_DELIVERY = frozenset({Group.DELIVERY})


def _left(role: Role, *command: str, patience: float = 8.0) -> dict[str, object]:
    """The clauses of the delivery group that a client does not pass, with their verdict and evidence."""
    trial = replace(build_trial(role, *command, patience=patience), groups=_DELIVERY)
    certificate, _ = certify(trial, lambda _doing: None)
    return {
        each.id: (each.verdict, each.reason, [finding.said for finding in each.evidence])
        for each in certificate.clauses
        if each.verdict != "pass" and each not in certificate.left_out
    }


@pytest.mark.long
@pytest.mark.xdist_group("kcl")
def test_the_kcl_passes(kcl: Path) -> None:
    """The KCL 3 with a process for each shard, which are killed with it."""
    (jars,) = kcl.parent.glob("lib/python3*/site-packages/amazon_kclpy/jars")
    command = (sys.executable, str(_FOLDER / "certified_kcl.py"), java(), str(jars), str(kcl / "python"))
    # A start takes the JVM and its leases ten seconds, and a split until its children are read as long.
    assert _left(Role.CONSUMER, *command, patience=30.0) == {}
