"""What answers with partial failures mean, and what is tried again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.channels.channel import Delivery
from extensions.functions.mappings.batches import Batch, count_done, follow_failure
from extensions.functions.mappings.mapping import Mapping

NAMES = ["1", "2", "3"]


def mapping(**settings: Any) -> Mapping:
    return Mapping(
        uuid="m", account="0", region="r", source="a:b:kinesis:d:e:stream/s", function="f", modified=0,
        batch_size=100, **settings,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "done"),
    [
        (None, 3),
        ({}, 3),
        ({"batchItemFailures": None}, 3),
        ({"batchItemFailures": []}, 3),
        ({"batchItemFailures": [{"itemIdentifier": "2"}]}, 1),
        ({"batchItemFailures": [{"itemIdentifier": "3"}, {"itemIdentifier": "2"}]}, 1),
        ({"batchItemFailures": [{"itemIdentifier": ""}]}, 0),
        ({"batchItemFailures": [{"itemIdentifier": None}]}, 0),
        ({"batchItemFailures": [{"identifier": "2"}]}, 0),
        ({"batchItemFailures": [{"itemIdentifier": "9"}]}, 0),
        ("a text", 3),
    ],
)
def test_the_success_and_failure_conditions_are_those_of_the_documentation(answer: object, done: int) -> None:
    """AWS Lambda's guide, "Success and failure conditions"."""
    assert count_done(json.dumps(answer).encode(), NAMES) == done


@given(
    count=st.integers(1, 64),
    bisect=st.booleans(),
    retries=st.integers(-1, 3),
    data=st.data(),
)
def test_every_record_behind_the_failure_is_tried_again_or_given_up(
    count: int, bisect: bool, retries: int, data: st.DataObject
) -> None:
    """In the order of the shard, none twice and none lost; only what has no retry left is given up."""
    records = [Delivery(b"", "k", "s", str(number), 0.0) for number in range(count)]
    done = data.draw(st.integers(0, count - 1))
    failures = data.draw(st.integers(0, 3))
    found = follow_failure(Batch(records, failures), done, mapping(bisect=bisect, retries=retries))
    again = [record for batch in found.again for record in batch.records]
    assert [*again, *found.given_up] == records[done:]
    assert not (found.given_up and again)
    if retries < 0:
        assert not found.given_up
