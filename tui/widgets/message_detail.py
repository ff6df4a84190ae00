"""One message in full: header, body, raw payload and history."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TabbedContent, TabPane, Tree
from textual.widgets.tree import TreeNode

from rdss_sandbox.shapes.messages import MessageDetail as Detail
from rdss_sandbox.text import figures
from rdss_sandbox.text.visible_text import visible
from tui.session import session_of
from tui.text.message_trace import Hop
from tui.text.pretty import pretty, wrap
from tui.text.reasons import Reasons
from tui.widgets.text_lines import TextLines
from tui.widgets.waterfall import Waterfall

_RAW_WIDTH = 400


class MessageDetailPane(Vertical):
    """Shows the message that it is given; it fetches nothing."""

    DEFAULT_CSS = """
    MessageDetailPane {
        background: $surface;
        #why { height: auto; max-height: 5; padding: 0 1; color: $text-success; }
        #why.-wrong { color: $text-error; }
        TabbedContent { height: 1fr; }
        TabPane { padding: 0; }
        Tree { background: $surface; padding: 0 1; height: 1fr; }
        Waterfall { height: 1fr; padding: 0 1; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="detail")
        self.detail: Detail | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="why", markup=False)
        with TabbedContent(initial="header"):
            with TabPane("Header", id="header"):
                yield Tree("")
            with TabPane("Body", id="body"):
                yield TextLines("body-text")
            with TabPane("Raw", id="raw"):
                yield TextLines("raw-text")
            with TabPane("History", id="history"):
                yield Waterfall()

    def show(self, detail: Detail, hops: list[Hop], reasons: Reasons) -> None:
        """Show this message with its trace and the reasons for its state."""
        self.detail = detail
        self.border_title = Content(_headline(detail))
        self.query_one("#why", Static).update("\n".join(reasons.lines) or "meets the contract")
        self.query_one("#why").set_class(not reasons.fine, "-wrong")
        self._show_header(detail.header)
        body = "" if detail.body is None else detail.body
        if isinstance(body, str):
            self.query_one("#body-text", TextLines).show(
                wrap(body or _why_empty(detail), _RAW_WIDTH), json=True
            )
        else:
            self.query_one("#body-text", TextLines).show(pretty(body), json=True)
        raw = detail.raw if detail.raw is not None else detail.raw_base64 or ""
        self.query_one("#raw-text", TextLines).show(wrap(raw, _RAW_WIDTH), json=detail.raw is not None)
        self.query_one(Waterfall).show(hops)

    def open_tab(self, name: str) -> None:
        """Show the tab ``header``, ``body``, ``raw`` or ``history``."""
        self.query_one(TabbedContent).active = name

    @property
    def shows_history(self) -> bool:
        """Whether the tab of the history is open."""
        return self.query_one(TabbedContent).active == "history"

    def turn(self, step: int) -> None:
        """Show the tab ``step`` further on."""
        tabs = self.query_one(TabbedContent)
        names = ["header", "body", "raw", "history"]
        tabs.active = names[(names.index(tabs.active) + step) % len(names)]

    def _show_header(self, header: dict[str, Any] | None) -> None:
        tree: Tree[None] = self.query_one(Tree)
        tree.clear()
        name = session_of(self).contract.header
        missing = "no header that can be read" if name else "the message has no header"
        tree.root.set_label(name or "header" if header else missing)
        for name, value in (header or {}).items():
            _branch(tree.root, name, value)
        tree.root.expand_all()


def _branch(node: TreeNode[None], name: str, value: Any) -> None:
    if isinstance(value, dict | list) and value:
        below = node.add(visible(name))
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            _branch(below, str(key), each)
    else:
        node.add_leaf(visible(f"{name}  {value}"))


def _headline(detail: Detail) -> str:
    parts = [f"#{detail.id}", detail.stream, figures.shard(detail.shard), figures.size(detail.size)]
    parts += [detail.code] if detail.code else []
    return visible(" · ".join([*parts, *detail.marks, detail.message_id or "no message id"]))


def _why_empty(detail: Detail) -> str:
    if detail.raw is None and detail.raw_base64 is None:
        return "past its stream's retention, or gone from its bucket: only its row is left"
    return "no body" if detail.header else "not JSON of the envelope's form; see it as it was sent under Raw"
