"""The frame of a page: one HTML document that loads nothing from elsewhere, with one style and one policy.

A page is HTML text. Whoever makes it escapes what others wrote.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, Final

import msgspec

INLINE_STYLE: Final = "style-src 'unsafe-inline'"


def render_page(
    title: str, body: str, *, style: str = "", script: str = "", allow: tuple[str, ...] = (), head: str = ""
) -> str:
    """Render a whole document. The ``script`` is run after the ``body``, and no other script is.

    ``style`` comes behind the style of all pages, ``head`` is more of the document's head, ``allow`` has more
    directives of the Content-Security-Policy.
    """
    scripts = (f"script-src {script_policy(script)}",) if script else ()
    policy = _write_policy(*allow, INLINE_STYLE, *scripts)
    sheet = (files("emulator.pages") / "frame.css").read_text(encoding="utf-8")
    run = f"<script>{script}</script>\n" if script else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{head}<title>{escape(title)}</title>\n<style>\n{sheet}{style}</style>\n</head>\n"
        f"<body>\n{body}\n{run}</body>\n</html>\n"
    )


def page_headers(*allow: str) -> dict[str, str]:
    """The headers of a page that a port serves; ``allow`` has more directives of its policy."""
    return {
        "content-security-policy": f"{_write_policy(*allow)}; frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        # A newer sandbox at the same address has a newer page.
        "cache-control": "no-store",
    }


def _write_policy(*allowed: str) -> str:
    return "; ".join(("default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"))


def script_policy(script: str) -> str:
    """The source expression of a Content-Security-Policy that lets exactly this inline script run."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def embed_json(name: str, data: Any) -> str:
    """An element with the id ``name`` that holds the data; no text in them can end the element."""
    text = msgspec.json.encode(data).replace(b"<", b"\\u003c").decode()
    return f'<script type="application/json" id="{name}">{text}</script>'
