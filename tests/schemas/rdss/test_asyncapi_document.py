"""The RDSS contract, written as an AsyncAPI document and read again."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from emulator.rng import Chance, Draws
from schemas.asyncapi.contract import AsyncApiContract
from schemas.asyncapi.load import load_contract
from schemas.rdss.asyncapi_document import write_document
from schemas.rdss.contract import RDSS
from tests.edits import edit

NOW = 1_800_000_000.0
EDITS = 3_000
UNSAID = {"position"}
"""The rules that a document cannot say: one field's value bounds another's."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> AsyncApiContract:
    path = tmp_path_factory.mktemp("written") / "rdss.json"
    path.write_text(json.dumps(write_document()))
    return load_contract(path)


def _spoilt(draws: Draws) -> Iterator[bytes]:
    """Samples, each spoilt in every way that the house knows."""
    for sample in RDSS.samples.from_seed(5, now=NOW).stream(150):
        yield sample.data
        for code in RDSS.changes.codes:
            if (data := RDSS.changes.spoil(sample.data, code, draws)) is not None:
                yield data


def _edited(draws: Draws) -> Iterator[bytes]:
    """Samples with something changed somewhere."""
    samples = list(RDSS.samples.from_seed(6, now=NOW).stream(100))
    for _ in range(EDITS):
        yield json.dumps(edit(json.loads(draws.choice(samples).data), draws)).encode()


def _miscounted() -> Iterator[bytes]:
    """Whole messages that say to be one of two, and parts that say to be whole."""
    for sample in RDSS.samples.from_seed(8, now=NOW).stream(10):
        message = json.loads(sample.data)
        message["messageHeader"]["messageSequence"]["total"] = 2
        yield json.dumps(message).encode()
    for part in _parts():
        message = json.loads(part)
        message["messageHeader"]["messageSequence"] |= {"position": 1, "total": 1}
        yield json.dumps(message).encode()


def _parts() -> Iterator[bytes]:
    big = RDSS.samples.from_seed(7, now=NOW).big_message(3, limit=20_000)
    ids = iter(["8f1e4a1c-0b1d-4b5e-9d57-0d0f3c6a1b2c", "8f1e4a1c-0b1d-4b5e-9d57-0d0f3c6a1b2d"])
    yield from RDSS.sequences.split(big.data, new_id=lambda: next(ids), limit=20_000)


def test_it_gives_the_same_verdicts(written: AsyncApiContract) -> None:
    """On header and bodies, over samples, mutations, edits and parts; and on what has expired."""
    draws = Chance(3).draws("edits")
    judged = {True: 0, False: 0}
    for data in (*_spoilt(draws), *_edited(draws), *_parts(), *_miscounted()):
        ours, theirs = RDSS.judge(data, now=NOW), written.judge(data, now=NOW)
        if {each.rule for each in ours.violations} <= UNSAID and ours.violations:
            continue
        assert ours.valid == theirs.valid, (data, ours, theirs)
        if ours.code == "GENERR003":
            assert theirs.code == "GENERR003"
        judged[ours.valid] += 1
    assert min(judged.values()) > 500


def test_it_sees_the_same(written: AsyncApiContract) -> None:
    """The id, the type, the times and the place in a sequence."""
    for data in (*(each.data for each in RDSS.samples.from_seed(5, now=NOW).stream(40)), *_parts()):
        ours, theirs = RDSS.peek(data), written.peek(data)
        for name in ("message_id", "message_type", "published", "expires", "part"):
            assert getattr(ours, name) == getattr(theirs, name)
        assert RDSS.identity(ours) == written.identity(theirs)


def test_its_samples_are_messages_of_rdss(written: AsyncApiContract) -> None:
    """What is drawn of the document, another judge takes."""
    assert written.samples is not None
    made = list(written.samples.from_seed(3, now=NOW).stream(100))
    assert all(RDSS.judge(each.data, now=NOW).valid for each in made)
