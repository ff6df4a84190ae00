"""The admin's page of a hub: every seat at a glance, on one wall."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Final

import msgspec

from emulator.pages.frame import PageFrame, wide
from extensions.hub.hub_api import SeatList, SeatView
from extensions.hub.seat_requests import OFFERED

FRAME: Final = PageFrame(
    here="Hub",
    scripts=(Path(__file__).with_name("hub_page.js"),),
    allow=("connect-src 'self'",),
)
_STATES: Final = {"awake": "pass", "starting": "open", "asleep": ""}
_TITLES: Final = (
    "seat",
    "state",
    "lesson",
    "records",
    "faults",
    "what its clients lose",
    "calls",
    "refused",
    "MB",
    "MB on disk",
)
_MANY_CHECKS: Final = 5
_LONG_MINUTES: Final = 25
"""A lesson takes about twenty."""
_EMPTY: Final = """\
<div class="empty"><p>Nobody has a seat yet. Type where the hub was started:</p>
<pre><code>sandbox hub add anna</code></pre></div>"""


def render_hub(found: SeatList) -> str:
    """The whole HTML document. Each name leads to the seat's own page, with its token."""
    awake = sum(each.state == "awake" for each in found.seats)
    losing = sum(bool(each.glance and each.glance.finding) for each in found.seats)
    stuck = sum(map(_is_stuck, found.seats))
    return FRAME.render(
        f"Hub: {awake} of {len(found.seats)} awake",
        f"<div id=seats>\n<h1>{len(found.seats)} seats, {awake} awake</h1>\n"
        f"{_note(found.trouble)}<p class=lead>{losing} with a client that loses something, "
        f"{stuck} stuck.</p>\n{_table(found) if found.seats else _EMPTY}\n</div>\n{_form(found)}",
    )


def _form(found: SeatList) -> str:
    """What can be asked of one seat or of all. The token is asked for: the page's cookie changes nothing."""
    names = [("", "everybody"), *((each.name, each.name) for each in found.seats)]
    what = [(msgspec.json.encode(request).decode(), said) for said, request in OFFERED.items()]
    return (
        "<section>\n<h2>For one or for all</h2>\n<form id=each class=controls>\n"
        f"<label>For {_select('who', names)}</label>\n<label>{_select('what', what)}</label>\n"
        "<label>The admin's token <input type=password name=token autocomplete=off required></label>\n"
        "<button>Ask</button>\n</form>\n<p id=outcome role=status></p>\n</section>"
    )


def _select(name: str, options: Iterable[tuple[str, str]]) -> str:
    listed = "".join(f'<option value="{escape(value)}">{escape(said)}</option>' for value, said in options)
    label = "" if name == "who" else ' aria-label="What"'
    return f"<select name={name}{label}>{listed}</select>"


def _is_stuck(seat: SeatView) -> bool:
    """Whether a trainer had better look: many checks of a lesson, or long at it, and it is not passed."""
    course = seat.course
    return (
        course is not None
        and not course.is_passed
        and (course.checks >= _MANY_CHECKS or seat.minutes_at_lesson >= _LONG_MINUTES)
    )


def _describe_lesson(seat: SeatView) -> str:
    course = seat.course
    if course is None:
        return "<td></td>"
    colour = "pass" if course.is_passed else "fail" if _is_stuck(seat) else ""
    done = "passed" if course.is_passed else f"{course.checks} checks, {seat.minutes_at_lesson} min"
    state = f'<small class="{colour}">{done}; {course.passed} of {course.of}</small>'
    return f"<td>{course.number}. {escape(course.lesson)} {state}</td>"


def _note(trouble: str) -> str:
    return f'<p class="note fail">{escape(trouble)}</p>\n' if trouble else ""


def _table(found: SeatList) -> str:
    heads = "".join(f"<th scope=col>{each}</th>" for each in _TITLES)
    rows = "\n".join(f"<tr>{''.join(_cells(each))}</tr>" for each in found.seats)
    return wide(f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>", "Seats")


def _cells(seat: SeatView) -> Iterator[str]:
    name, glance = escape(seat.name), seat.glance
    yield f'<th scope=row><a href="{escape(seat.control)}/?token={escape(seat.token)}">{name}</a></th>'
    yield f'<td><span class="badge {_STATES[seat.state]}">{seat.state}</span></td>'
    yield _describe_lesson(seat)
    if glance is None:
        yield f"<td></td><td></td><td>{escape(seat.trouble)}</td>"
    else:
        rate = f" <small>{glance.rate:.0f}/s</small>" if glance.rate >= 1 else ""
        yield f"<td class=n>{glance.records}{rate}</td><td>{escape(', '.join(glance.faults))}</td>"
        yield f"<td>{escape(glance.finding or glance.error or seat.trouble)}</td>"
    for value in (seat.calls, seat.refused, f"{seat.memory_mb:.0f}", f"{seat.disk_mb:.0f}"):
        yield f"<td class=n>{value}</td>"
