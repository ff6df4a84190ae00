"""The columns of a message in the tables are the fields that its contract declares."""

from __future__ import annotations

from sandbox.pipeline.schema import TABLES, describe_fields
from tests.parcels import PARCELS


def test_the_columns_of_rdss_keep_their_names_types_and_order() -> None:
    """Tables that are there already are read by them."""
    assert [(column.name, column.type) for column in TABLES["messages"].columns[7:17]] == [
        ("message_id", "STRING"),
        ("correlation_id", "STRING"),
        ("message_class", "STRING"),
        ("message_type", "STRING"),
        ("sequence", "STRING"),
        ("position", "INT"),
        ("total", "INT"),
        ("tenant", "BIGINT"),
        ("version", "STRING"),
        ("published", "TIMESTAMP"),
    ]
    assert [column.name for column in TABLES["sequences"].columns[9:15]] == [
        "message_id", "message_class", "message_type", "tenant", "version", "published",
    ]  # fmt: skip


def test_another_contract_has_its_own_columns() -> None:
    """Its label is a column, and nothing of RDSS is; the code belongs to the verdict."""
    assert [column.name for column in describe_fields(PARCELS.fields)] == [
        "message_id", "message_type", "depot",
    ]  # fmt: skip
