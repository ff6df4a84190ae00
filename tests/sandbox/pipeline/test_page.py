"""The report page."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from sandbox.pipeline.reports.pipeline_report import Interval, Reject, Report, SequenceSpan, Tenant
from sandbox.pipeline.reports.report_page import render_page

REPORT = Report(
    place="/somewhere",
    first="2026-11-21T08:00:00.000Z",
    last="2026-11-21T08:01:30.000Z",
    rows={"messages": 1200, "duplicates": 7, "rejects": 1, "arrivals": 1208},
    rejects={"GENERR007": 1},
    queued={"GENERR007": 1},
    sequences={"joined": 2, "open": 1},
    objects={"known": 900, "deleted": 40, "replaced": 3, "preserved": 1},
    streams={"input": {"messages": 1200, "duplicates": 7, "rejects": 1}},
    interval_seconds=60,
    intervals=(
        Interval("2026-11-21T08:00:00.000Z", 700, 7, 1, 90_000, 12, 250),
        Interval("2026-11-21T08:01:00.000Z", 500, 0, 0, 70_000, None, None),
    ),
    tenants=(Tenant(12, 1200, 7, 1, 12, 250, 900), Tenant(None, 0, 0, 1, None, None, None)),
    examples=(Reject("GENERR007", "the bytes are <script>alert(1)</script>", "input", None, 12),),
    spans=(
        SequenceSpan("input", "5f0c", "joined", 3, 3, "2026-11-21T08:00:10.000Z", "2026-11-21T08:00:40.000Z"),
        SequenceSpan("input", "7a1b", "open", 1, 2, "2026-11-21T08:01:00.000Z", "2026-11-21T08:01:00.000Z"),
    ),
)


class _Balanced(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "link"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_shows_the_numbers_and_needs_nothing_from_elsewhere() -> None:
    """The page opens from a disk: no address in it, every number there."""
    text = render_page(REPORT)
    assert not re.search(r"https?:|src=|@import|url\(", text)
    for shown in ("1,200", "GENERR007", "sequences joined", "860", "2026-11-21T08:00:00.000Z", "unreadable"):
        assert shown in text
    assert text.count('<svg viewBox="0 0 720') == 5
    assert "08:01" in text


def test_the_page_is_well_formed_and_escapes_what_messages_say() -> None:
    """Text out of a rejected message cannot become part of the page."""
    text = render_page(REPORT)
    reader = _Balanced()
    reader.feed(text)
    assert reader.open == []
    assert "&lt;script&gt;" in text


def test_a_report_of_nothing_is_a_page_too() -> None:
    """Tables without rows are shown as such."""
    rows = dict.fromkeys(("messages", "duplicates", "rejects", "arrivals"), 0)
    objects = dict.fromkeys(("known", "deleted", "replaced", "preserved"), 0)
    empty = Report("/x", None, None, rows, {}, {}, {}, objects, {}, 1, (), (), ())
    assert "arrivals from never to never" in render_page(empty)
