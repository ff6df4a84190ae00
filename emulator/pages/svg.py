"""Shapes of a drawing in a page, as SVG text. No script, no asset from elsewhere.

A ``style`` is a class of the page's style sheet. A ``title`` is shown where one points. Texts are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from xml.sax.saxutils import quoteattr


def rect(style: str, x: float, y: float, width: float, height: float, *, title: str = "") -> str:
    return _element("rect", _titled(title), style=style, x=x, y=y, width=width, height=height)


def line(style: str, x1: float, y1: float, x2: float, y2: float, *, title: str = "") -> str:
    return _element("line", _titled(title), style=style, x1=x1, y1=y1, x2=x2, y2=y2)


def circle(style: str, x: float, y: float, radius: float, *, title: str = "") -> str:
    return _element("circle", _titled(title), style=style, cx=x, cy=y, r=radius)


def polyline(style: str, points: Iterable[tuple[float, float]], *, message: str = "") -> str:
    """A line through points: the way of a ``message``, by which it is found and which is its title."""
    way = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
    return _element("polyline", _titled(message), style=style, data_message=message, points=way)


def text(words: str, x: float, y: float, style: str = "") -> str:
    return _element("text", escape(words), style=style, x=x, y=y)


def drawing(content: str, width: float, height: float, label: str = "", **attributes: str) -> str:
    """A drawing. One with ``attributes`` is as large as its content; another is as large as there is room."""
    box = f"0 0 {_number(width)} {_number(height)}"
    size = {"width": _number(width), "height": _number(height)} if attributes else {}
    role = "img" if label else ""
    return _element("svg", content, role=role, aria_label=label, viewBox=box, **size, **attributes)


def _titled(title: str) -> str:
    return f"<title>{escape(title)}</title>" if title else ""


def _element(tag: str, inside: str, *, style: str = "", **attributes: float | str) -> str:
    """An element without the attributes that are empty."""
    named = {"class": style, **{name.replace("_", "-"): value for name, value in attributes.items()}}
    given = ((name, each if isinstance(each, str) else _number(each)) for name, each in named.items())
    written = "".join(f" {name}={quoteattr(value)}" for name, value in given if value)
    return f"<{tag}{written}>{inside}</{tag}>"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
