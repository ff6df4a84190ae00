"""The page at ``/`` of the management port: what of RabbitMQ's API there is."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final

from emulator.amqp.server_properties import VERSION
from emulator.pages.frame import INLINE_STYLE, page_headers, render_page

PAGE_HEADERS: Final = page_headers(INLINE_STYLE)
_TITLE: Final = "Management API of the sandbox's AMQP broker"
_BODY: Final = """\
<main>
<h1>{title}</h1>
<p>This is RabbitMQ's HTTP API, version {version}, over the broker of the sandbox. There are no pages to click
through; <code>rabbitmqadmin</code>, client libraries and <code>curl</code> use it. The login is
<code>guest</code> with <code>guest</code>, or any user with the sandbox's token. The only virtual host is
<code>/</code>, which is <code>%2F</code> in a path.</p>
<p>A method that is not in the list answers 405, and a path that is not in it 404.</p>
<table>
{rows}
</table>
</main>"""


def describe_paths(paths: Mapping[str, tuple[str, ...]]) -> str:
    """The page of these paths of the API, each with its methods."""
    rows = "\n".join(
        f"<tr><td>{escape(' '.join(paths[path]))}</td><td><code>/api{escape(path)}</code></td></tr>"
        for path in sorted(paths)
    )
    return render_page(_TITLE, _BODY.format(title=escape(_TITLE), version=VERSION, rows=rows))
