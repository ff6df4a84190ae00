"""The report as one HTML page with charts and tables; it loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from sandbox.pipeline.charts import draw_bars, draw_lines, draw_stacked_bars
from sandbox.pipeline.report import Report
from schemas.error_codes import ErrorCode

_STYLE = Path(__file__).with_name("report.css")


def render_page(found: Report) -> str:
    """Render the whole HTML document."""
    every = f"{found.interval_minutes} minutes" if found.interval_minutes > 1 else "minute"
    rejects = _section("Rejects by code", draw_bars(found.rejects), _codes(found)) if found.rejects else ""
    sections = [
        _tiles(found),
        _section(f"Arrivals a {every}", *_arrivals(found)),
        _section("From published to arrived", *_latency(found)),
        _section("What the faults did", *_impact(found)) if found.impact else "",
        rejects,
        _section("Streams", _streams(found)),
        _section("Tenants", _tenants(found)),
        _section("Rejected messages", _examples(found)) if found.examples else "",
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>RDSS pipeline report</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE.read_text()}</style></head><body>'
        f"<h1>Pipeline report</h1><p>{escape(found.place)}</p>"
        f"<p>arrivals from {escape(found.first or 'never')} to {escape(found.last or 'never')}</p>"
        f"{''.join(sections)}</body></html>\n"
    )


def _times(found: Report) -> list[str]:
    """The label of each interval: its time of day, or its date if intervals are days or longer."""
    whole_days = found.interval_minutes >= 1440
    return [interval.start[:10] if whole_days else interval.start[11:16] for interval in found.intervals]


def _arrivals(found: Report) -> tuple[str, str]:
    series = {
        "messages": [interval.messages for interval in found.intervals],
        "duplicates": [interval.duplicates for interval in found.intervals],
        "rejects": [interval.rejects for interval in found.intervals],
    }
    return _key(messages="--good", duplicates="--again", rejects="--bad"), draw_stacked_bars(
        _times(found), series
    )


def _latency(found: Report) -> tuple[str, str]:
    series = {"p50": [i.p50 for i in found.intervals], "p95": [i.p95 for i in found.intervals]}
    return _key(p50="--good", p95="--slow"), draw_lines(_times(found), series, " ms")


def _impact(found: Report) -> tuple[str, str, str]:
    """The number of injections over time, and the outcomes of the messages by type of fault."""
    series = {"injected": [sum(interval.faults.values()) for interval in found.intervals]}
    titles = ("fault", "injected", "messages struck", "arrivals of them", "duplicates", "rejects")
    rows = [
        (i.type, i.injected, i.messages, i.arrivals, i.duplicates, i.rejects, i.p50, i.p95, i.p50_others)
        for i in found.impact
    ]
    listed = _table((*titles, "p50 ms", "p95 ms", "p50 ms of those not struck"), rows)
    return _key(injected="--slow"), draw_stacked_bars(_times(found), series), listed


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


def _key(**colours: str) -> str:
    parts = (
        f'<span><i style="background:var({colour})"></i>{name}</span>' for name, colour in colours.items()
    )
    return f'<p class="key">{"".join(parts)}</p>'


def _codes(found: Report) -> str:
    known = {str(code): code.description for code in ErrorCode}
    rows = [(code, known.get(code, ""), n, found.queued.get(code, 0)) for code, n in found.rejects.items()]
    return _table(("code", "meaning", "rejected here", "queued by receivers"), rows)


def _streams(found: Report) -> str:
    outcomes = ("messages", "parts", "duplicates", "rejects", "queued")
    rows: list[list[str | int | None]] = [
        [name, *(counts.get(outcome, 0) for outcome in outcomes)] for name, counts in found.streams.items()
    ]
    return _table(("stream", *outcomes), rows)


def _tenants(found: Report) -> str:
    titles = ("tenant", "messages", "duplicates", "rejects", "p50 ms", "p95 ms", "longest ms")
    rows = [
        (str(t.tenant or "unreadable"), t.messages, t.duplicates, t.rejects, t.p50, t.p95, t.longest)
        for t in found.tenants
    ]
    return _table(titles, rows)


def _examples(found: Report) -> str:
    rows = [(e.code, e.description, e.stream, e.message_id or "unreadable", e.size) for e in found.examples]
    return _table(("code", "why", "stream", "messageId", "bytes"), rows)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str | int | None]]) -> str:
    listed = [list(row) for row in rows]
    numeric = [
        bool(listed) and all(not isinstance(row[at], str) for row in listed) for at in range(len(titles))
    ]
    head = "".join(f"<th{_align(n)}>{escape(title)}</th>" for title, n in zip(titles, numeric, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td{_align(n)}>{_cell(cell)}</td>" for cell, n in zip(row, numeric, strict=True))
        + "</tr>"
        for row in listed
    )
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _align(numeric: bool) -> str:
    return ' class="n"' if numeric else ""


def _cell(cell: str | int | None) -> str:
    if cell is None:
        return "-"
    return escape(cell) if isinstance(cell, str) else f"{cell:,}"
