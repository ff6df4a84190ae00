"""What the row under the cursor means, in full, in the space under its list."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static


class MeaningPane(VerticalScroll, can_focus=False):
    """Shows paragraphs of text under a title; a small screen has no room for it."""

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    def show(self, title: str, *paragraphs: Content | str) -> None:
        """Show these paragraphs from the top, a blank line between two."""
        self.border_title = Content(title)
        told = (Content(each) if isinstance(each, str) else each for each in paragraphs)
        self.query_one(Static).update(Content("\n\n").join(told))
        self.scroll_home(animate=False)
