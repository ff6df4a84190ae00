"""The frame of a page: one HTML document that loads nothing from elsewhere, with one header and one style.

A page is HTML text. Whoever makes it escapes what others wrote. ``frame.css`` has the palette, the type scale
and every component; ``python -m tests.pages.design`` shows them all.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec

CONTROL_PLACES: Final = {"Watch": "/", "Course": "/learn", "Runs": "/runs/", "Control API": "/docs"}
"""The pages of the control port, and where they are."""
_HERE: Final = Path(__file__).parent
PALETTE: Final = _HERE / "palette.css"
"""The colours, sizes and fonts of everything of ours that a browser shows."""
_THEME: Final = _HERE / "theme.js"
COPY_BUTTONS: Final = _HERE / "copy_buttons.js"
"""The script that gives each block of code a button to copy it."""
_MARK: Final = '<svg viewBox="0 0 24 24"{}><path d="M2 12h5c5 0 4-6 9-6h6M7 12c5 0 4 6 9 6h6"/></svg>'
_CHOICE: Final = '<button type="button" id="theme" hidden>Light or dark</button>'
ICON: Final = _MARK.format(
    ' xmlns="http://www.w3.org/2000/svg" fill="none" stroke="#3b82f6" stroke-width="4" stroke-linecap="round"'
)
"""The mark of the product, as a picture of its own."""


@dataclass(frozen=True, kw_only=True)
class PageFrame:
    """What is the same of a page whatever it shows.

    ``here`` is the place that it is, ``places`` where the others are that can be reached from it. ``styles``
    and ``scripts`` come behind those of all pages; the scripts are run after the body. Of the
    Content-Security-Policy ``sources`` has more expressions of script-src, ``allow`` more directives.
    ``head`` is more of the head.
    """

    here: str
    places: Mapping[str, str] = field(default_factory=dict)
    styles: tuple[Path, ...] = ()
    scripts: tuple[Path, ...] = ()
    sources: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    head: str = ""

    def render(self, title: str, body: str) -> str:
        """Render a whole document; ``body`` is what is in its main part."""
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{self._policy()}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<link rel="icon" href="data:image/svg+xml,{quote(ICON)}">\n'
            f"{self.head}<title>{escape(title)}</title>\n<style>{self._style()}</style>\n</head>\n"
            f'<body>\n<a class="skip" href="#content">To the content</a>\n{self.header()}\n'
            f'<main id="content" tabindex="-1">\n{body}\n</main>\n'
            f"<script>{self._script()}</script>\n</body>\n</html>\n"
        )

    def header(self) -> str:
        """The header of the page: the product, and its places."""
        brand, home = _MARK.format(' aria-hidden="true"') + "RDSS sandbox", self.places.get("Watch")
        product = f'<a class="brand" href="{home}">{brand}</a>' if home else f'<b class="brand">{brand}</b>'
        links = "".join(
            f"<a{_attribute('href', where)}{_attribute('aria-current', 'page' if name == self.here else '')}>"
            f"{name}</a>"
            for name, where in {**self.places, self.here: self.places.get(self.here, "")}.items()
        )
        return f'<header class="site">{product}<nav aria-label="Places">{links}</nav>{_CHOICE}</header>'

    def headers(self) -> dict[str, str]:
        """The headers of the page where a port serves it."""
        return {
            "content-security-policy": f"{self._policy()}; frame-ancestors 'none'",
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            # A newer sandbox at the same address has a newer page.
            "cache-control": "no-store",
        }

    def script_source(self) -> str:
        """The source expression of a Content-Security-Policy for the script of the page, and for no other."""
        return _allow_text(self._script())

    def _script(self) -> str:
        return _join(_THEME, *self.scripts)

    def _style(self) -> str:
        return _join(PALETTE, _HERE / "frame.css", *self.styles)

    def _policy(self) -> str:
        scripts = f"script-src {' '.join((*self.sources, self.script_source()))}"
        style = f"style-src {_allow_text(self._style())}"
        closed = ("img-src data:", "base-uri 'none'", "form-action 'none'")
        return "; ".join(("default-src 'none'", scripts, *self.allow, style, *closed))


def _attribute(name: str, value: str) -> str:
    return f' {name}="{value}"' if value else ""


def _join(*files: Path) -> str:
    return "".join(file.read_text(encoding="utf-8") for file in files)


def _allow_text(text: str) -> str:
    """The source expression of a Content-Security-Policy that lets exactly this inline text take effect."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def wide(content: str, label: str) -> str:
    """Something that is scrolled sideways where the window is narrower; the ``label`` names it."""
    name = escape(label)
    return f'<div class="wide" tabindex="0" role="region" aria-label="{name}">{content}</div>'


def embed_json(name: str, data: Any) -> str:
    """An element with the id ``name`` that holds the data; no text in them can end the element."""
    text = msgspec.json.encode(data).replace(b"<", b"\\u003c").decode()
    return f'<script type="application/json" id="{name}">{text}</script>'
