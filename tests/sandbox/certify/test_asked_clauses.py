"""A contract is asked for what it declares: no clause is about what its messages cannot be."""

from __future__ import annotations

from typing import Final

import pytest

from emulator.channels.registry import list_kinds
from sandbox.certify.attempt import Client
from sandbox.certify.certificate import judge_clauses
from sandbox.certify.channels import find_certified
from sandbox.certify.clause import Group, Role
from sandbox.certify.clauses import CLAUSES, clauses
from sandbox.certify.history import History, Level
from sandbox.certify.stages import stages
from sandbox.certify.trial import Trial, certify
from schemas.contract import describe_contract
from schemas.rdss.contract import RDSS
from tests.parcels import PARCELS

_ONLY_OF_RDSS: Final = {
    "joins-sequences",
    "splits-sequences-rightly",
    "refuses-expired",
    "sends-nothing-expired",
    "knows-older-versions",
    "drops-its-own-echo",
    "back-off-as-specified",
}


def test_the_clauses_that_parcels_cannot_meet_are_not_asked() -> None:
    """Parcels have no sequences, no expiry, no releases and no specification of pauses."""
    channels = list_kinds("certified")
    asked = {each.id for role in Role for channel in channels for each in clauses(role, channel=channel)}
    left = {
        each.id
        for role in Role
        for channel in channels
        for each in clauses(role, channel=channel, contract=PARCELS)
    }
    assert asked - left == _ONLY_OF_RDSS
    assert asked == {each.id for each in CLAUSES}


def test_a_certificate_says_what_is_not_asked() -> None:
    """A reader of the certificate sees that a clause is missing, and by which contract."""
    trial = Trial(
        Role.CONSUMER,
        Client(("true",), lambda _line: (), 1.0),
        1,
        Level.BRONZE,
        frozenset(Group),
        contract=PARCELS,
    )
    certificate, _ = certify(trial, lambda _said: None)
    (remark,) = [each for each in certificate.remarks if "parcels 1" in each]
    assert remark.startswith("parcels 1 gives no reason to ask for: joins-sequences, ")


@pytest.mark.parametrize("channel", list_kinds("certified"))
@pytest.mark.parametrize("role", Role)
def test_a_stage_is_played_for_a_clause_that_is_asked(role: Role, channel: str) -> None:
    """RDSS has every stage; parcels have those whose clauses they are asked for."""
    every = find_certified(channel).stages[role]
    of_rdss, of_parcels = (clauses(role, channel=channel, contract=each) for each in (RDSS, PARCELS))
    assert stages(every, Level.GOLD, frozenset(Group), of_rdss) == every
    played = stages(every, Level.GOLD, frozenset(Group), of_parcels)
    assert played == tuple(each for each in every if each.clause not in _ONLY_OF_RDSS)


def test_a_clause_names_the_contract_that_demands_it() -> None:
    """What RDSS's specification demands is demanded of parcels by parcels; AWS's documentation stays."""
    wanted = clauses(Role.CONSUMER, contract=PARCELS)
    results, _ = judge_clauses(wanted, History("input", 0.0), "again", contract=PARCELS)
    sources = {each.id: each.source for each in results}
    assert sources["nothing-lost"] == describe_contract(PARCELS)
    assert sources["parents-before-children"].startswith("Amazon Kinesis")
    assert not any("RDSS" in source for source in sources.values())
