"""An application takes a message or says with which code it does not, whatever its body is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.clock import Clock
from sandbox.applications import InstitutionalRepository, PreservationSystem
from sandbox.download.download import Downloads
from sandbox.gateway import Gateway, Machine
from sandbox.gateway.outbox import Outbox
from sandbox.receiver import Application, ApplicationError, Arrival
from sandbox.repository import Repository
from schemas.rdss.catalogue import terms
from schemas.rdss.envelope import serialise
from schemas.rdss.peek import peek
from schemas.rdss.samples import Samples
from tests.sandbox.applications.application_streams import NOW
from tests.sandbox.gateway.test_gateway import Broker

FIELDS = (
    "objectUUID",
    "packageUUID",
    "objectFile",
    "objectRelatedIdentifier",
    "identifier",
    "identifierType",
    "relationType",
    "fileUUID",
)
ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from([*terms("RelationType"), "UUID"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=8,
)
VALID = st.integers(0, 200).map(lambda seed: Samples(seed, now=NOW).message()["messageBody"])
TYPES = st.one_of(st.sampled_from(terms("MessageType")), st.none(), st.just("Another"))


@pytest.fixture(params=["repository", "preservation"])
def application(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Application, Repository]]:
    clock = Clock(frozen_at=NOW, autojump=True)
    with closing(Repository(tmp_path / "local.sqlite3", clock)) as repository:
        gateway = Gateway(Broker(), repository, clock)
        outbox = Outbox(gateway, clock, generator="application", machine=Machine("m", "localhost"))
        if request.param == "repository":
            yield InstitutionalRepository(repository, outbox, clock), repository
        else:
            downloads = Downloads(tmp_path / "staging", {}, clock)
            yield PreservationSystem(repository, outbox, downloads, tmp_path / "packages", clock), repository


@given(st.one_of(ANY, VALID, st.tuples(VALID, ANY)), TYPES, st.sampled_from(["Command", "Event", "Document"]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_body_of_any_type_is_taken_or_refused_with_a_code(
    application: tuple[Application, Repository], body: Any, message_type: str | None, message_class: str
) -> None:
    """No body makes it fail with an error of its own, which would be GENERR009 and blame nobody's message."""
    if isinstance(body, tuple):
        whole, change = body
        body = {**whole, **change} if isinstance(change, dict) else whole
    message = Samples(1, now=NOW).message("MetadataRead")
    message["messageHeader"] |= {"messageType": message_type, "messageClass": message_class}
    raw = serialise({**message, "messageBody": body})
    process, repository = application
    with contextlib.suppress(ApplicationError), repository.transaction() as store:
        process(Arrival(raw, peek(raw), 1), store)
