"""The benchmark of a document's contract measures it and RDSS, and a bare validator, by like messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.asyncapi.declarations import Location
from tests.bench import contracts
from tests.bench.rows import US


@pytest.mark.parametrize(("told_apart", "place"), [(True, Location("payload", ("kind",))), (False, None)])
def test_the_document_has_ten_messages_of_a_thousand_bytes(
    tmp_path: Path, told_apart: bool, place: Location | None
) -> None:
    """Told apart by a field, or by nothing but their schemas; valid, and of the size of RDSS's."""
    contract = contracts.write_document(tmp_path, told_apart=told_apart)
    assert (len(contract.kinds), contract.declared.type) == (contracts.MESSAGES, place)
    messages = contracts.make_of_one_size(contract)
    assert len({len(each.data) for samples in messages.values() for each in samples}) == 1
    assert 700 < len(messages["rdss"][0].data) < 1_300
    assert all(contract.judge(each.data).valid for each in messages[contract.name])


def test_every_measure_is_taken() -> None:
    """Two ways to judge, each beside the bare validator; and what the index and PutRecords take longer."""
    rows = list(contracts.measure(rounds=1, judged=20))
    assert [row.subject for row in rows] == [US, contracts.BARE, US, contracts.BARE, US, US]
    assert [row.unit for row in rows] == ["µs"] * 4 + ["%"] * 2
