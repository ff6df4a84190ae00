"""Every version of the messaging API answers as a table says, and the tables are long enough to mean it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.extensions.queues.http.case import Case, Conversation
from tests.extensions.queues.http.conftest import InProcess
from tests.extensions.queues.http.tables import TABLES


@pytest.mark.parametrize(
    ("version", "case"),
    [(version, case) for version, cases in TABLES.items() for case in cases],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_request_is_answered_as_the_table_says(version: str, case: Case, in_process: InProcess) -> None:
    """Status, body and headers, after the requests that lead there."""
    Conversation(in_process, version, "demo").check(case)


@pytest.mark.parametrize("version", TABLES)
def test_a_table_has_a_hundred_cases_of_different_names(version: str) -> None:
    """No version is tested by less, and every failure can be found by its name."""
    names = Counter(case.name for case in TABLES[version])
    assert len(names) >= 100
    assert names.most_common(1)[0][1] == 1
