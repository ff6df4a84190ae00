"""The lists of the control API, for the messages of two contracts that have nothing in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from rdss_sandbox.client import RefusedError
from rdss_sandbox.questions.message_filter import OF_A_RECORD
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.messages import MessageRow, NewMessage
from tests.two_contracts import CONTRACTS, REASON, Site, open_site


@pytest.fixture(scope="module", params=CONTRACTS)
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with open_site(CONTRACTS[request.param]) as site:
        yield site


def values_of(row: MessageRow) -> dict[str, Any]:
    """The fields of a row by their columns, labels included."""
    found: dict[str, Any] = msgspec.to_builtins(row)
    return found | found.get("labels", {})


def test_rows_have_the_fields_that_the_contract_declares(site: Site) -> None:
    """Each message says in the list what it says of itself."""
    rows = site.client.messages(matching="stream:input").messages
    assert [row.partition_key for row in rows] == [each.key for each in (*site.sent, site.sent[0], site.bad)]
    for row, sample in zip(rows, site.sent, strict=False):
        seen, values = site.contract.peek(sample.data, sample.key), values_of(row)
        for field in site.contract.fields:
            if field.indexed:
                told = getattr(seen, field.attribute)
                assert str(values[field.column]) == str(told), field.name


def test_every_field_is_filtered_by(site: Site) -> None:
    """A row's own value selects it, and its exclusion does not; the example of each is a filter."""
    (first, *_) = site.client.messages().messages
    for field in site.client.contract().fields:
        if not field.indexed:
            continue
        value = values_of(first)[field.column]
        term = f"{field.name}:none" if value is None else f'{field.name}:"{value}"'
        assert first.id in {row.id for row in site.client.messages(matching=term).messages}
        assert first.id not in {row.id for row in site.client.messages(matching=f"-{term}").messages}
        site.client.messages(matching=field.example)


def test_a_field_that_it_does_not_declare_is_refused_with_those_it_does(site: Site) -> None:
    """In the order of the contract, then those of every record."""
    names = [field.name for field in site.client.contract().fields if field.indexed]
    with pytest.raises(RefusedError) as refused:
        site.client.messages(matching="colour:red")
    assert ", ".join((*names, *OF_A_RECORD)) in str(refused.value)


def test_messages_are_counted_by_what_it_counts(site: Site) -> None:
    """By each field, every message is counted once; by another the request is refused."""
    for field in site.client.contract().fields:
        if field.counted:
            assert (
                sum(each.count for each in site.client.counts(field.name, matching="stream:input,invalid"))
                == 9
            )
        else:
            with pytest.raises(RefusedError, match="no field"):
                site.client.counts(field.name)


def test_what_comes_again_is_marked(site: Site) -> None:
    """By the identity that the contract gives: a header's id or a record's key."""
    (again,) = site.client.messages(matching="mark:duplicate stream:input").messages
    assert again.partition_key == site.sent[0].key


def test_an_export_has_all_as_sent(site: Site) -> None:
    """Whatever the messages are made of."""
    lines = b"".join(site.client.export("stream:input")).splitlines()
    assert lines == [each.data for each in (*site.sent, site.sent[0], site.bad)]


def test_a_refused_message_is_told_with_code_reason_and_verdict(site: Site) -> None:
    """The code is the contract's; the verdict is on what was sent."""
    (row,) = site.client.messages(matching="stream:invalid").messages
    known = {each.code: each for each in site.client.contract().codes}
    assert row.code == site.code
    assert known[row.code].queue == "invalid"
    verdict = site.client.verdict(row.id)
    assert (verdict.code, verdict.reason) == (site.code, REASON)
    (first, *_) = site.client.messages().messages
    assert site.client.verdict(first.id).violations == ()


def test_a_message_is_shown_in_the_form_of_its_contract(site: Site) -> None:
    """With a header where there is one, else as one object."""
    contract = site.client.contract()
    detail = site.client.message(1)
    message = msgspec.json.decode(detail.raw or "")
    if contract.header and contract.body:
        assert (detail.header, detail.body) == (message[contract.header], message[contract.body])
    else:
        assert (detail.header, detail.body) == (None, message)


def test_no_sequence_is_listed_where_all_came_in_one_piece(site: Site) -> None:
    """A contract without sequences has an empty list, too, and no joined message."""
    assert site.client.sequences().total == 0
    with pytest.raises(RefusedError, match="no parts of a sequence"):
        site.client.joined("9b1d", stream="input")


def test_a_fault_matches_what_the_contract_declares(site: Site) -> None:
    """By the name that a field has in the message."""
    field = next(each for each in site.contract.fields if each.name == "type")
    wanted = site.contract.peek(site.sent[0].data, site.sent[0].key).message_type
    site.client.add_fault(
        NewFault("duplicate", name="typed", channel="output", when={"match": {field.spelling: wanted}})
    )
    for sample in site.sent:
        site.client.send(NewMessage("output", sample.data, sample.key))
    of_type = [each for each in site.sent if site.contract.peek(each.data).message_type == wanted]
    assert site.client.faults()[0].injected == len(of_type)
    site.client.remove_fault("typed")
