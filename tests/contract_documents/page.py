"""Tries documents of other people, and makes docs/asyncapi-documents.md of what comes of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.contract_documents.trial import MOST_SECONDS, Outcome, find_documents, try_document
from tests.docs.page_parts import renew_part
from tests.docs.pages import ROOT

PAGE: Final = ROOT / "docs/asyncapi-documents.md"
_HEAD: Final = (
    "| document | messages | client | seconds | level | what is missing |\n|---|---|---|---|---|---|"
)
_CLIENTS: Final = {"kinesis": "Kinesis", "rabbitmq": "RabbitMQ", "": ""}


def try_folder(folder: Path, at_once: int) -> list[Outcome]:
    """Try every document in a folder, so many at a time; what each came to is told on standard error.

    One that took too long beside another is tried once more alone.
    """
    documents = list(find_documents(folder))

    def try_one(document: Path) -> Outcome:
        outcome = try_document(document, str(document.relative_to(folder)))
        sys.stderr.write(f"{outcome.document}: {outcome.level or 'none'}, {outcome.seconds:g} s\n")
        return outcome

    with ThreadPoolExecutor(at_once) as pool:
        outcomes = list(pool.map(try_one, documents))
    return [
        outcome if outcome.seconds < MOST_SECONDS else try_one(document)
        for document, outcome in zip(documents, outcomes, strict=True)
    ]


def write_row(outcome: Outcome) -> str:
    """The row of a document on the page."""
    reason = outcome.reason.replace("|", "\\|").replace("<", "&lt;")
    cells = [
        f"`{outcome.document}`",
        str(outcome.messages or ""),
        _CLIENTS[outcome.channel],
        f"{outcome.seconds:.0f}" if outcome.level else "",
        outcome.level,
        reason,
    ]
    return f"| {' | '.join(cells)} |"


def renew(page: str, outcomes: Iterable[Outcome]) -> str:
    """Write the count and the table of the page again. Raises ``ValueError`` when a mark is missing."""
    every = list(outcomes)
    done = [each for each in every if each.level not in ("", "none")]
    quick = sum(each.seconds < MOST_SECONDS for each in done)
    count = (
        f"\n{len(done)} of {len(every)} documents came to a certificate, {quick} of them in less than "
        f"{MOST_SECONDS:g} seconds.\n"
    )
    table = "\n".join(["", "", _HEAD, *map(write_row, every), "", ""])
    return renew_part(renew_part(page, "count", count), "documents", table)
