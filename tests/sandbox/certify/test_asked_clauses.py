"""A contract is asked for what it declares: no clause is about what its messages cannot be."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from emulator.channels.kind_registry import list_kinds
from sandbox.certify.attempt import Client
from sandbox.certify.certified_kinds import find_certified
from sandbox.certify.clause import Group, Role
from sandbox.certify.clause_verdicts import judge_clauses
from sandbox.certify.clauses import OWN_CLAUSES, clauses
from sandbox.certify.history import History, Level
from sandbox.certify.kit_messages import KitMessages, explain_untried, tell_apart
from sandbox.certify.stages import stages
from sandbox.certify.trial import Trial, certify
from schemas.asyncapi.load import load_contract
from schemas.contract import describe_contract
from schemas.rdss.contract import RDSS
from tests.parcels import PARCELS
from tests.schemas.asyncapi.documents import SHAPES, load_text

_DOCUMENTS: Final = Path(__file__).parents[1] / "contract"
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
    assert asked == {each.id for each in OWN_CLAUSES}


def test_what_needs_an_id_is_not_asked_where_none_is_declared() -> None:
    """Two messages with the same bytes may both be meant; and where nothing is refused to, nobody refuses."""
    lamps, structured = SHAPES["lamps.yaml"], SHAPES["structured_events.yaml"]
    asked, of_events = (
        {each.id for role in Role for each in clauses(role, contract=contract)}
        for contract in (lamps, structured)
    )
    assert of_events - asked >= {"nothing-twice", "keeps-the-message-id"}
    assert not asked & {"rejects-with-the-right-code", "poison-stops-nothing", "refuses-expired"}
    assert {"nothing-lost", "bodies-unaltered", "resumes-after-a-kill", "valid-messages"} <= asked


@pytest.mark.parametrize("channel", ["kinesis", "rabbitmq"])
def test_a_document_is_asked_for_what_it_declares(channel: str) -> None:
    """With ids, expiry and a channel for what is refused, all of them; without, those that need none."""
    needed = {
        Role.CONSUMER: {"rejects-with-the-right-code", "refuses-expired", "poison-stops-nothing"},
        Role.PRODUCER: {"keeps-the-message-id", "sends-nothing-expired"},
    }
    always = {Role.CONSUMER: {"nothing-lost"}, Role.PRODUCER: {"valid-messages", "never-oversize"}}
    jobs, nameless = (load_contract(_DOCUMENTS / name) for name in ("jobs.yaml", "nameless_jobs.yaml"))
    for role in Role:
        asked, left = (
            {each.id for each in clauses(role, channel=channel, contract=contract)}
            for contract in (jobs, nameless)
        )
        of_kind = {each.id for each in clauses(role, channel=channel, contract=None)}
        assert asked >= (needed[role] | always[role]) & of_kind
        assert left >= always[role] & of_kind
        assert not left & needed[role]


@pytest.mark.parametrize("name", ["lamps.yaml", "binary_events.yaml", "pictures.yaml"])
def test_the_kit_makes_no_two_messages_alike(name: str) -> None:
    """So a client that knows no id tells of a message by the SHA-256 of its bytes."""
    contract = SHAPES[name].without_headers
    assert explain_untried(contract) is None
    messages = KitMessages(tell_apart(contract), 3)
    made = [messages.good() for _ in range(500)]
    assert [each.key for each in made] == [sha256(each.data).hexdigest() for each in made]
    assert len({each.data for each in made}) == 500


@pytest.mark.parametrize("name", ["lamps.yaml", "structured_events.yaml"])
def test_what_a_bad_message_says_of_its_id_can_be_read(name: str) -> None:
    """However it is cut: else no one could tell where it went. A larger one than records can be is none."""
    contract = SHAPES[name]
    messages = KitMessages(tell_apart(contract), 3)
    assert contract.oversize not in messages.codes
    for code in messages.codes * 10:
        bad = messages.bad(code)
        assert tell_apart(contract).peek(bad.data).message_id == bad.key
        assert contract.judge(bad.data).code == code


def test_too_few_messages_for_a_trial_are_said_to_be_so(tmp_path: Path) -> None:
    """Two words are no thousand messages, and nothing can be put behind a text that means nothing there."""
    text = (
        "asyncapi: 3.0.0\ninfo: {title: few, version: '1'}\nchannels: {c: {messages: {m: "
        "{contentType: %s, payload: {enum: [yes it is, no it is not]}}}}}\n"
    )
    why = explain_untried(load_text(tmp_path, text % "text/plain"))
    assert why is not None
    assert "too few messages that differ" in why
    assert explain_untried(load_text(tmp_path, text % "application/json")) is None


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
