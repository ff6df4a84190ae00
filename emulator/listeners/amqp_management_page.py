"""The page at ``/`` of the management port: what of RabbitMQ's API there is."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final

from emulator.amqp.server_properties import VERSION

PAGE_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Management API of the sandbox's AMQP broker</title>
<style>:root {{ color-scheme: light dark }} body {{ font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto;
max-width: 52rem; padding: 0 1rem }} td {{ padding: 0 1.5rem 0 0; vertical-align: top }}</style>
</head>
<body>
<main>
<h1>Management API of the sandbox's AMQP broker</h1>
<p>This is RabbitMQ's HTTP API, version {version}, over the broker of the sandbox. There are no pages to click
through; <code>rabbitmqadmin</code>, client libraries and <code>curl</code> use it. The login is
<code>guest</code> with <code>guest</code>, or any user with the sandbox's token. The only virtual host is
<code>/</code>, which is <code>%2F</code> in a path.</p>
<p>A method that is not in the list answers 405, and a path that is not in it 404.</p>
<table>
{rows}
</table>
</main>
</body>
</html>
"""


def render_page(paths: Mapping[str, tuple[str, ...]]) -> str:
    """The page of these paths of the API, each with its methods."""
    rows = "\n".join(
        f"<tr><td>{escape(' '.join(paths[path]))}</td><td><code>/api{escape(path)}</code></td></tr>"
        for path in sorted(paths)
    )
    return _PAGE.format(version=VERSION, rows=rows)
