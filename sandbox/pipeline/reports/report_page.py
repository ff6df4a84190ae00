"""The report as one HTML page with charts and tables; it loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Final

from emulator.pages.frame import PageFrame, wide
from sandbox.pipeline.reports.charts import (
    Axis,
    Span,
    draw_bars,
    draw_lines,
    draw_spans,
    draw_stacked_bars,
    duration,
)
from sandbox.pipeline.reports.pipeline_report import Report
from schemas.bound import CONTRACT

_FRAME: Final = PageFrame(here="Pipeline", styles=(Path(__file__).with_name("report.css"),))


def render_page(found: Report) -> str:
    """Render the whole HTML document."""
    sections = [
        _tiles(found),
        _section(f"Arrivals in {_length(found.interval_seconds)}", *_arrivals(found)),
        _section("Throughput: records a second", _throughput(found)),
        _section("Latency: from published to arrived", *_latency(found)),
        _section("What the faults did", *_impact(found)) if found.impact else "",
        _section("Rejects by code", *_rejects(found)) if found.rejects else "",
        _section("Sequences, from first part to last", *_spans(found)) if found.spans else "",
        _section("Streams", _streams(found)),
        _section("Tenants", _tenants(found)),
    ]
    return _FRAME.render(
        "Pipeline report",
        f"<h1>Pipeline report</h1><p class=hint>{escape(found.place)}</p>"
        f"<p class=hint>arrivals from {escape(found.first or 'never')} to {escape(found.last or 'never')}, "
        f"in UTC</p>{''.join(sections)}",
    )


def _length(seconds: int) -> str:
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            return f"a {unit}" if seconds == size else f"{seconds // size} {unit}s"
    raise AssertionError("an interval has a second or more")


def _axis(found: Report) -> Axis:
    return Axis([_seconds(interval.start) for interval in found.intervals], found.interval_seconds)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _arrivals(found: Report) -> tuple[str, str]:
    series = {
        "messages": [interval.messages for interval in found.intervals],
        "duplicates": [interval.duplicates for interval in found.intervals],
        "rejects": [interval.rejects for interval in found.intervals],
    }
    drawn = wide(draw_stacked_bars(_axis(found), series), "arrivals over time")
    return _key(*series), drawn


def _throughput(found: Report) -> str:
    rates = [(i.messages + i.duplicates + i.rejects) / found.interval_seconds for i in found.intervals]
    return wide(draw_lines(_axis(found), {"throughput": rates}), "throughput over time")


def _latency(found: Report) -> tuple[str, str]:
    series = {"p50": [i.p50 for i in found.intervals], "p95": [i.p95 for i in found.intervals]}
    return _key("p50", "p95"), wide(draw_lines(_axis(found), series, duration), "latency over time")


def _impact(found: Report) -> tuple[str, str, str, str]:
    """The injections over time, the latency by fault, and the outcomes of the messages they struck."""
    series = {"injected": [sum(interval.faults.values()) for interval in found.intervals]}
    titles = ("fault", "injected", "messages struck", "arrivals of them", "duplicates", "rejects")
    rows = [
        (i.type, i.injected, i.messages, i.arrivals, i.duplicates, i.rejects, i.p50, i.p95, i.p50_others)
        for i in found.impact
    ]
    medians = [("no fault", found.impact[0].p50_others), *((i.type, i.p50) for i in found.impact)]
    latency = {name: median for name, median in medians if median is not None}
    listed = _table("what each fault did", (*titles, "p50 ms", "p95 ms", "p50 ms of those not struck"), rows)
    medians_drawn = wide(draw_bars(latency, duration, "injected"), "latency by fault")
    bars = f"<h3>Latency by fault: p50</h3>{medians_drawn}" if latency else ""
    struck = wide(draw_stacked_bars(_axis(found), series), "injections over time")
    return _key("injected"), struck, bars, listed


def _spans(found: Report) -> tuple[str, str]:
    spans = [
        Span(
            f"{span.stream} {span.sequence[:8]}",
            span.status,
            _seconds(span.first),
            _seconds(span.last),
            f"{span.sequence}: {span.status}, {span.parts} of {span.total} parts, "
            f"{span.first} to {span.last}",
        )
        for span in found.spans
    ]
    return _key("joined", "open", "refused", "overdue"), wide(draw_spans(spans), "sequences over time")


def _section(title: str, *content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(content)}</section>"


def _tiles(found: Report) -> str:
    joined = found.sequences.get("joined", 0)
    waiting = sum(count for status, count in found.sequences.items() if status != "joined")
    tiles = [
        (found.rows["messages"], "messages"),
        (joined, "sequences joined"),
        (waiting, "sequences not joined"),
        (found.objects["known"] - found.objects["deleted"], "objects"),
        (found.objects["deleted"], "objects deleted"),
        (found.rows["duplicates"], "duplicates dropped"),
        (found.rows["rejects"], "rejects"),
        (found.rows["arrivals"], "records read"),
    ]
    shown = "".join(f'<div class="tile"><b>{n:,}</b>{escape(what)}</div>' for n, what in tiles)
    return f'<div class="tiles">{shown}</div>'


def _key(*names: str) -> str:
    parts = (
        f'<li><svg viewBox="0 0 14 14"><circle class="{name}" cx="7" cy="7" r="6"/></svg>{name}</li>'
        for name in names
    )
    return f'<ul class="legend">{"".join(parts)}</ul>'


def _rejects(found: Report) -> tuple[str, str]:
    """The counts of the codes, and the codes with the first message of each."""
    known = {name: code.description for name, code in CONTRACT.codes.items()}
    first = {example.code: example for example in found.examples}
    titles = ("code", "meaning", "rejected here", "queued by receivers", "first", "messageId", "bytes", "why")
    rows: list[list[str | int | None]] = []
    for code, count in found.rejects.items():
        counts: tuple[str | int | None, ...] = (None, None, None, None)
        if reject := first.get(code):
            counts = (
                reject.arrived or "-",
                reject.message_id or "unreadable",
                reject.size,
                reject.description,
            )
        rows.append([code, known.get(code, ""), count, found.queued.get(code, 0), *counts])
    return wide(draw_bars(found.rejects), "counts of codes"), _table("reject codes", titles, rows)


def _streams(found: Report) -> str:
    outcomes = ("messages", "parts", "duplicates", "rejects", "queued")
    rows: list[list[str | int | None]] = [
        [name, *(counts.get(outcome, 0) for outcome in outcomes)] for name, counts in found.streams.items()
    ]
    return _table("streams", ("stream", *outcomes), rows)


def _tenants(found: Report) -> str:
    titles = ("tenant", "messages", "duplicates", "rejects", "p50 ms", "p95 ms", "longest ms")
    rows = [
        (str(t.tenant or "unreadable"), t.messages, t.duplicates, t.rejects, t.p50, t.p95, t.longest)
        for t in found.tenants
    ]
    return _table("tenants", titles, rows)


def _table(label: str, titles: Sequence[str], rows: Iterable[Sequence[str | int | None]]) -> str:
    listed = [list(row) for row in rows]
    numeric = [
        bool(listed) and all(not isinstance(row[at], str) for row in listed) for at in range(len(titles))
    ]
    head = "".join(
        f"<th scope=col{_align(n)}>{escape(title)}</th>" for title, n in zip(titles, numeric, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{_align(n)}>{_cell(cell)}</td>" for cell, n in zip(row, numeric, strict=True))
        + "</tr>"
        for row in listed
    )
    return wide(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", label)


def _align(numeric: bool) -> str:
    return ' class="n"' if numeric else ""


def _cell(cell: str | int | None) -> str:
    if cell is None:
        return "-"
    return escape(cell) if isinstance(cell, str) else f"{cell:,}"
