"""The content of one object."""

from __future__ import annotations

import asyncio

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from rdss_sandbox.text import figures
from tui.session import posting_failures, session_of
from tui.text.preview import Preview, preview
from tui.widgets.text_lines import TextLines


class ObjectView(Vertical):
    """Fetches an object and shows a preview of it."""

    BORDER_TITLE = "enter on an object shows what is in it"

    def compose(self) -> ComposeResult:
        yield TextLines()

    @work(group="object", exclusive=True)
    async def show(self, bucket: str, key: str) -> None:
        """Fetch and show an object."""
        app = session_of(self)
        with posting_failures(self):
            data = await app.client.object(bucket, key)
            shown = await asyncio.to_thread(preview, key, data)
            self.call_later(self._draw, bucket, key, len(data), shown)

    def _draw(self, bucket: str, key: str, size: int, shown: Preview) -> None:
        name = key.rpartition("/")[2]
        self.border_title = Content(f"{shown.kind} · {figures.size(size)} · {name}")
        self.query_one(TextLines).show(shown.lines, json=shown.json)
        app = session_of(self)
        if app.snapshot:
            app.command = f"aws --endpoint-url {app.snapshot.status.aws} s3 cp s3://{bucket}/{key} -"
