"""A list of any length that draws the lines in view, holds a few pages, and fetches more on scrolling.

    source --page--> worker --call_later--> Pages --row--> render_line --Strip--> screen
                       ^                       |
                       +---- _due (event) -----+   rows in view that are missing

The worker only fetches; what comes is shown between messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events, work
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rdss_sandbox.client import RefusedError, UnreachableError
from rdss_sandbox.shapes.events import News
from tui.keys.actions import ActionGroup, bindings
from tui.state.paging import Page, Pages, Source
from tui.text.columns import FilledColumns, ListColumn, fit, split_cell

Row = TypeVar("Row")
Whole: TypeAlias = tuple[str, Sequence[str]]
"""A row in full: a sentence, and lines of JSON."""

_TONES = ("error", "warning", "good", "dim", "accent", "primary")
_STRIPS_KEPT = 300
_INCOMPLETE_SECONDS = 0.25
_LONGEST_INCOMPLETE_SECONDS = 1.0
"""The pause before rows are asked for that the sandbox has not indexed yet. It grows in a flood of them."""


class RowList(ScrollView, Generic[Row], can_focus=True, inherit_bindings=False):
    """Rows under a heading, one line each, with a cursor.

    ``browse`` shows rows that are fetched page by page, and again at news for which ``live`` is true.
    ``fill`` shows given rows. ``title`` names the list in its border. ``whole`` tells a row in full, for who
    presses enter on it. While ``following``, the cursor stays on the last row. While ``paused``, no rows are
    added and ``behind`` counts the new ones.
    """

    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[Any]] = bindings(ActionGroup.LIST)
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "row-list--heading",
        "row-list--cursor",
        *(f"row-list--{tone}" for tone in _TONES),
    }
    DEFAULT_CSS = """
    RowList {
        background: $surface;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        .row-list--heading { color: $text-muted; text-style: bold; }
        .row-list--cursor { background: $primary 35%; color: $foreground; text-style: bold; }
        &:focus .row-list--cursor { background: $primary; color: $text; }
        .row-list--error { color: $text-error; }
        .row-list--warning { color: $text-warning; }
        .row-list--good { color: $text-success; }
        .row-list--dim { color: $text-muted; }
        .row-list--accent { color: $text-accent; }
        .row-list--primary { color: $primary; }
    }
    """

    cursor: reactive[int] = reactive(0, repaint=False)
    following: reactive[bool] = reactive(False, repaint=False, init=False)
    paused: reactive[bool] = reactive(False, repaint=False, init=False)

    @dataclass
    class Failed(Message):
        """The rows could not be fetched."""

        error: UnreachableError | RefusedError

    @dataclass
    class Highlighted(Message):
        """The cursor moved to another row, or to none."""

        rows: RowList[Any]
        row: Any

        @property
        def control(self) -> RowList[Any]:
            return self.rows

    class Opened(Highlighted):
        """The user pressed enter, or clicked, on the row under the cursor."""

    @dataclass
    class Changed(Message):
        """The length of the list changed, or it started or stopped following or pausing."""

        rows: RowList[Any]

        @property
        def control(self) -> RowList[Any]:
            return self.rows

    def __init__(
        self,
        columns: Sequence[ListColumn[Row]],
        *,
        live: Callable[[News], bool] | None = None,
        marked: Callable[[Row], bool] = lambda _: False,
        whole: Callable[[Row], Whole] | None = None,
        empty: str = "nothing here yet",
        title: str = "",
        id: str | None = None,  # noqa: A002 -- Textual's name for it
    ) -> None:
        super().__init__(id=id)
        self.border_title = title
        self._columns = FilledColumns(columns)
        self._live = live
        self.marked = marked
        self.whole = whole
        self._empty = empty
        self.known = True
        self._pages: Pages[Row] = Pages()
        self._source: Source[Row] | None = None
        self._filled: Sequence[Row] | None = None
        self._listing = 0
        self._due = asyncio.Event()
        self._incomplete_pause = _INCOMPLETE_SECONDS
        self._look_again = False
        self._strips: dict[tuple[int, bool], Strip] = {}
        self._styles: dict[str, Style] = {}
        self._chosen: list[tuple[ListColumn[Row], int]] = []
        self._chosen_for = -1
        self._last_report: tuple[int, object] = (-1, None)
        self._goal: int | None = None
        self._by_hand = False
        self.total = 0
        self.behind = 0

    def on_mount(self) -> None:
        self._keep_fetching()
        if self._live:
            self.watch(self.app, "news", self._notice, init=False)
            self.watch(self.app, "lost", self.look_again, init=False)

    def browse(self, source: Source[Row], *, cursor: int = 0) -> None:
        """Show the rows of ``source``, from the start."""
        self._start_over()
        self._source, self._filled = source, None
        self.known = False
        self._pages = Pages()
        self.set_reactive(RowList.cursor, cursor)
        self.look_again()

    def await_rows(self) -> None:
        """Show no rows, and that they are on their way, until ``fill``."""
        self.fill(())
        self.known = False

    def fill(self, rows: Sequence[Row]) -> None:
        """Show these rows; the cursor stays on its line."""
        self._note_known()
        if rows == self._filled:
            return
        self._source, self._filled = None, rows
        self._strips.clear()
        self._note_columns(rows)
        self._pages = Pages(size=max(1, len(rows)))
        self._pages.put(Page(0, rows, len(rows)))
        self._set_total(len(rows))

    def show_columns(self, columns: Sequence[ListColumn[Row]]) -> None:
        self._columns = FilledColumns(columns)
        for page in self._pages.held_rows():
            self._columns.note(page)
        self.on_resize()

    def _note_columns(self, rows: Sequence[Row]) -> None:
        if self._columns.note(rows):
            self._choose_columns()

    def _choose_columns(self) -> None:
        self._strips.clear()
        self._chosen_for = self.scrollable_content_region.width
        self._chosen = self._columns.choose(self._chosen_for - 2)

    def show_empty(self, empty: str) -> None:
        """Show no rows and the text ``empty``."""
        self._empty = empty
        self.fill(())
        self.refresh()

    def _note_known(self) -> None:
        """An empty list says that it is empty only once that is known."""
        if not self.known:
            self.known = True
            self.post_message(self.Changed(self))
            self.refresh()

    def look_again(self) -> None:
        """Fetch the number of rows again, and new rows at the end."""
        if self._source and self.screen in self.app.screen_stack:
            self._look_again = True
            self._due.set()

    def _notice(self, news: News) -> None:
        if self._live and self._live(news):
            self.look_again()

    @property
    def current(self) -> Row | None:
        """The row under the cursor; None in an empty list and while the row is being fetched."""
        return self._pages.row(self.cursor) if self.total else None

    def find(self, holds: Callable[[Row], bool]) -> int | None:
        """The index of the first held row for which ``holds`` is true."""
        return self._pages.find(holds)

    def redraw(self) -> None:
        """Draw every line again, because the look of rows changed."""
        self._strips.clear()
        self.refresh()

    # Fetching.

    @work(group="pages", exclusive=True)
    async def _keep_fetching(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            try:
                await self._fetch()
            except (UnreachableError, RefusedError) as error:
                self.post_message(self.Failed(error))

    async def _fetch(self) -> None:
        source, listing, size = self._source, self._listing, self._pages.size
        if source is None:
            return
        total = self.total + self.behind
        if self._look_again:
            self._look_again = False
            # A list that follows shows its end alone; rows before it are fetched when they come into view.
            asked = -max(1, self.size.height - 1) if self.following else total // size * size
            page = await source(asked, -asked if self.following else size)
            self.call_later(self._take, page, listing)
            if page.complete:
                self._incomplete_pause = _INCOMPLETE_SECONDS
            else:
                await asyncio.sleep(self._incomplete_pause)
                self._incomplete_pause = min(2 * self._incomplete_pause, _LONGEST_INCOMPLETE_SECONDS)
                self.look_again()
        for offset in self._pages.missing(*self._in_view(), self.total):
            self.call_later(self._take, await source(offset, size), listing)

    def _take(self, page: Page[Row], listing: int) -> None:
        """Take a fetched page, but not when the list has started over since: ``listing`` is then another."""
        if listing != self._listing:
            return
        if page.complete:
            self._note_known()
        known = self.total + self.behind
        if page.total < known and page.offset + len(page.rows) >= page.total:
            self._start_over()  # the sandbox was reset: the held rows are gone there
            self.look_again()
            return
        if page.total == known and self._pages.holds(page):
            return
        if not self._pages.extends(page):
            self._strips.clear()  # rows drawn already may have changed
        self._note_columns(page.rows)
        self._pages.put(page)
        if self.paused and self.total:
            self.behind = max(self.behind, page.total - self.total)
            self.post_message(self.Changed(self))
        elif page.total != self.total:
            self._set_total(page.total)
        self._reach_goal()
        self._ask_for_missing()
        self._post_highlighted()
        self.refresh()

    # Length and place.

    def _start_over(self) -> None:
        self._listing += 1
        self._strips.clear()
        self._columns.forget()
        self._pages.clear()
        self.behind = 0
        self._set_total(0)
        self._last_report = (-1, None)

    def _set_total(self, total: int) -> None:
        self.total = total
        self._fit_scrollbar()
        if self.following:
            self.cursor = max(0, total - 1)
            self._show_cursor()
        elif total:
            self.cursor = min(self.cursor, total - 1)
        self.post_message(self.Changed(self))
        self._post_highlighted()
        self.refresh()

    def watch_cursor(self, before: int, after: int) -> None:
        self.refresh_line(before + 1)
        self.refresh_line(after + 1)
        self._show_cursor()
        self._post_highlighted()

    def watch_following(self, following: bool) -> None:
        if following:
            self.paused = False
            self.cursor = max(0, self.total - 1)
            self._show_cursor()
            self.look_again()
        self.post_message(self.Changed(self))

    def watch_paused(self, paused: bool) -> None:
        if not paused:
            behind, self.behind = self.behind, 0
            self._set_total(self.total + behind)
            self.look_again()
        self.post_message(self.Changed(self))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self._by_hand and self.cursor > self._in_view()[1]:
            self._by_hand = self.following = False
        self._ask_for_missing()

    def on_resize(self) -> None:
        self._choose_columns()
        self._fit_scrollbar()
        self._ask_for_missing()
        self._show_cursor()
        self.refresh()  # it may have been drawn at this size with the columns of the old one

    def _fit_scrollbar(self) -> None:
        # Only the scrollbar changes. A plain assignment would lay out the whole screen again.
        size = Size(self.size.width, self.total + 1)
        self.set_reactive(RowList.virtual_size, size)
        self._scroll_update(size)
        # The wheel counts from the scroll target, which is not reduced when the list gets shorter.
        self.scroll_target_y = min(self.scroll_target_y, self.max_scroll_y)

    def _in_view(self) -> tuple[int, int]:
        first = round(self.scroll_y)
        return first, first + max(0, self.size.height - 2)

    def _ask_for_missing(self) -> None:
        if self._source and self.total and self._pages.missing(*self._in_view(), self.total):
            self._due.set()

    def _show_cursor(self) -> None:
        first, last = self._in_view()
        if self.cursor < first:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor > last and self.size.height > 1:
            self.scroll_to(y=self.cursor - (last - first), animate=False)

    def _post_highlighted(self) -> None:
        row = self.current
        if (self.cursor, row) != self._last_report:
            self._last_report = (self.cursor, row)
            self.post_message(self.Highlighted(self, row))

    # Keys and mouse.

    def move_to(self, index: int) -> None:
        """Put the cursor on row ``index`` and stop following unless it is the last row."""
        self.following = self.following and index >= self.total - 1
        self.cursor = max(0, min(index, self.total - 1))

    def go_to(self, index: int) -> None:
        """Put the cursor on row ``index`` as soon as the list is that long."""
        self._goal = index
        self._reach_goal()

    def _reach_goal(self) -> None:
        if self._goal is not None and self._goal < self.total:
            goal, self._goal = self._goal, None
            self.move_to(goal)

    def action_cursor_up(self) -> None:
        self.move_to(self.cursor - 1)

    def action_cursor_down(self) -> None:
        self.move_to(self.cursor + 1)

    def action_page_up(self) -> None:
        self.move_to(self.cursor - max(1, self.size.height - 2))

    def action_page_down(self) -> None:
        self.move_to(self.cursor + max(1, self.size.height - 2))

    def action_first(self) -> None:
        self.move_to(0)

    def action_last(self) -> None:
        self.move_to(self.total - 1)

    def action_open(self) -> None:
        if (row := self.current) is not None:
            self.post_message(self.Opened(self, row))

    def on_click(self, event: events.Click) -> None:
        inside = event.get_content_offset(self)
        index = round(self.scroll_y) + inside.y - 1 if inside else self.total
        if inside and inside.y and index < self.total:
            again = index == self.cursor
            self.move_to(index)
            if again or event.chain > 1:
                self.action_open()

    # Wheel and scrollbar do not move the cursor. When it is out of view, the list stops following.

    def on_mouse_scroll_up(self) -> None:
        self._by_hand = True

    on_scroll_up = on_scroll_to = on_mouse_scroll_up

    # Drawing.

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()
        self._styles.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        if self._chosen_for != self.scrollable_content_region.width:
            self._choose_columns()  # the size changed without a message that it did
        # Strips are cached by row in this class, so Textual's cache by line would only cost time. Its own
        # method is still needed for a border or a padding.
        if self.styles.gutter or self.opacity < 1:
            return super().render_lines(crop)
        filters, background = self.get_line_filters(), self.background_colors[1]
        strips = [self.render_line(y).crop(crop.x, crop.right) for y in crop.line_range]
        for each in filters:
            strips = [strip.apply_filter(each, background) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            titles = [column.fit_title(cells) for column, cells in self._chosen]
            return Strip([Segment(fit(" " + " ".join(titles), width), self._tone("heading"))], width)
        index = round(self.scroll_y) + y - 1
        if index >= self.total:
            note = (self._empty if self.known else "…") if y == 2 and not self.total else ""
            style = self._tone("dim")
            return Strip([Segment(fit(f"  {note}", width), style)], width)
        here = index == self.cursor
        if strip := self._strips.get((index, here)):
            return strip
        row = self._pages.row(index)
        if row is None:
            return Strip([Segment(fit(" …", width), self._tone("dim"))], width)
        if len(self._strips) > _STRIPS_KEPT:
            self._strips.clear()
        strip = self._strips[index, here] = self._line(row, width, here=here)
        return strip

    def _line(self, row: Row, width: int, *, here: bool) -> Strip:
        plain = style = self._tone("cursor" if here else "")
        text, left = "▶" if self.marked(row) else " ", width - 1
        segments: list[Segment] = []
        for column, cells in self._chosen:
            cell, more = split_cell(column, row, cells) if column.after else (column.fit(row, cells), "")
            cell, more = (cell, more + " ") if more else (cell + " ", "")
            tone = "" if here else column.choose_tone(row)
            style_of_tone = self._tone(tone) if tone else plain
            if style_of_tone is not style and not cell.isspace():
                segments.append(Segment(text, style))
                text, style = "", style_of_tone
            text, left = text + cell, left - cells - 1
            if more and not here:
                segments.append(Segment(text, style))
                text, style = "", self._tone("dim")
            text += more
        # The strip has exactly this width by construction, so Textual need not measure it.
        segments.append(Segment(text + " " * left if left > 0 and style is plain else text, style))
        if left > 0 and style is not plain:
            segments.append(Segment(" " * left, plain))
        strip = Strip(segments, width - min(left, 0))
        return strip if left >= 0 else strip.crop(0, width)

    def _tone(self, tone: str) -> Style:
        if (style := self._styles.get(tone)) is None:
            style = self.get_component_rich_style(f"row-list--{tone}") if tone else self.rich_style
            self._styles[tone] = style
        return style
