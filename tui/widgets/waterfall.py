"""The trace of a message as a waterfall: a line for each hop, with its place in time."""

from __future__ import annotations

from collections.abc import Sequence

from rdss_sandbox.text.figures import date_time, span
from tui.text.columns import ListColumn
from tui.text.message_trace import Hop
from tui.widgets.row_list import RowList, Whole

_LANE_CELLS = 16


class Waterfall(RowList[Hop]):
    """Shows hops, oldest first, with the time since the first one as a figure and as a lane."""

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 -- Textual's name for it
        self._start = 0.0
        self._length = 0.0
        columns = (
            ListColumn[Hop]("time (UTC)", 23, lambda hop: date_time(hop.at), "dim", worth=4),
            ListColumn[Hop]("after", 9, lambda hop: "+" + span(hop.at - self._start), right=True, worth=7),
            ListColumn[Hop]("", _LANE_CELLS, self._lane, lambda hop: hop.tone or "accent", worth=6),
            ListColumn[Hop]("where", 17, lambda hop: hop.place, lambda hop: hop.tone, worth=9),
            ListColumn[Hop]("what", 34, lambda hop: hop.what, lambda hop: hop.tone, worth=8, stretch=True),
        )
        super().__init__(columns, whole=self._tell, empty="no event names this message", id=id)

    def show(self, hops: Sequence[Hop]) -> None:
        """Draw these hops, oldest first."""
        self._start = hops[0].at if hops else 0.0
        # An expiry lies far ahead; it must not squeeze the past into one cell.
        happened = [hop.at for hop in hops if hop.place != "expires"]
        self._length = max(happened, default=self._start) - self._start
        self.fill(hops)

    def _tell(self, hop: Hop) -> Whole:
        after = span(hop.at - self._start)
        return f"{hop.place}: {hop.what}", [f"{date_time(hop.at)} UTC, {after} after the first"]

    def _lane(self, hop: Hop) -> str:
        after = hop.at - self._start
        if after > self._length:
            return "┄" * (_LANE_CELLS - 1) + "▷"
        place = round(after / self._length * (_LANE_CELLS - 1)) if self._length > 0 else 0
        return "─" * place + "◆"
