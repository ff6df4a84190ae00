"""A document that the sandbox has never seen leads to a certificate of a plain client."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.contract_documents.page import PAGE, renew
from tests.contract_documents.trial import Outcome, find_documents, try_document
from tests.schemas.asyncapi.documents import FOLDER

_TRIED: Final = (
    "chat.yaml",
    *(
        pytest.param(name, marks=pytest.mark.long)
        for name in ("calls.yaml", "lamps.yaml", "prices.json", "structured_events.yaml", "workspace.yaml")
    ),
)
"""Streams and queues, told apart by schema, by a field, or as events, with an id of their own and without."""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", _TRIED)
def test_a_plain_client_is_certified_by_a_document(name: str) -> None:
    """With no line of code for it: every clause that it gives a reason for is exercised and passes."""
    outcome = try_document(FOLDER / name, name)
    assert (outcome.level, outcome.reason) == ("gold", "")


def test_what_is_wrong_with_a_document_is_its_reason(tmp_path: Path) -> None:
    """The first problem, with its place, and how many others there are."""
    (tmp_path / "bad.yaml").write_text("asyncapi: 3.0.0\ninfo: {title: a}\nchanels: {}\n")
    outcome = try_document(tmp_path / "bad.yaml", "bad")
    assert outcome.level == ""
    assert outcome.reason.startswith("#/chanels: is not a field of this object")
    assert outcome.reason.endswith("more)")


def test_documents_of_version_3_are_found(tmp_path: Path) -> None:
    """In YAML and in JSON, in any folder; other files and older versions are passed over."""
    (tmp_path / "a").mkdir()
    texts = {
        "a/one.yml": "# a comment\nasyncapi: '3.0.0'\n",
        "two.json": '{\n  "asyncapi": "3.1.0"}',
        "old.yaml": "asyncapi: 2.6.0\n",
        "other.yaml": "openapi: 3.0.0\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert [str(each.relative_to(tmp_path)) for each in find_documents(tmp_path)] == ["a/one.yml", "two.json"]


def test_the_page_is_written_again() -> None:
    """With a row for each document, and how many came to a certificate, and how quickly."""
    outcomes = [
        Outcome("own/er/a.yaml", 2, "kinesis", 31.4, "gold"),
        Outcome("own/er/b.yaml", 1, "rabbitmq", 61.0, "silver", "dead-letters-poison: fail"),
        Outcome("own/er/c.yaml", reason="#/channels: a | b"),
    ]
    page = renew(PAGE.read_text(encoding="utf-8"), outcomes)
    assert "2 of 3 documents came to a certificate, 1 of them in less than 60 seconds." in page
    assert "| `own/er/a.yaml` | 2 | Kinesis | 31 | gold |  |" in page
    assert "| `own/er/c.yaml` |  |  |  |  | #/channels: a \\| b |" in page
