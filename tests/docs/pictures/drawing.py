"""A drawing of boxes, lines, arrows and dots, as SVG: readable on a light page and on a dark one."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise
from typing import Final

INK: Final = "#1f2430"
QUIET: Final = "#6b7280"
BLUE: Final = "#2f5fb3"
ORANGE: Final = "#b4560b"
GREEN: Final = "#23734a"
RED: Final = "#b3261e"
PAPER: Final = "#fbfbf8"
_STYLE: Final = "text{font:15px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"


class Drawing:
    """A drawing of ``width`` by ``height`` pixels; what it shows in words is its title."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(title)}">\n<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n'
            f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>'
        )
        self._shapes: list[str] = []

    def text(self, x: float, y: float, words: str, colour: str = INK, anchor: str = "start") -> None:
        self._shapes.append(
            f'<text x="{x:g}" y="{y:g}" fill="{colour}" text-anchor="{anchor}">{escape(words)}</text>'
        )

    def box(self, x: float, y: float, width: float, words: str, colour: str = INK) -> None:
        """A box 44 high with ``words`` in it; ``y`` is its middle."""
        self._shapes.append(
            f'<rect x="{x:g}" y="{y - 22:g}" width="{width:g}" height="44" rx="6" '
            f'fill="white" stroke="{colour}" stroke-width="1.5"/>'
        )
        self.text(x + width / 2, y + 5, words, colour, "middle")

    def line(self, *points: tuple[float, float], colour: str = QUIET, dashed: bool = False) -> None:
        dashes = ' stroke-dasharray="5 5"' if dashed else ""
        way = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._shapes.append(
            f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>'
        )

    def arrow(self, *points: tuple[float, float], colour: str = INK, dashed: bool = False) -> None:
        """A line with a head at its last point."""
        self.line(*points, colour=colour, dashed=dashed)
        (x1, y1), (x, y) = list(pairwise(points))[-1]
        length = ((x - x1) ** 2 + (y - y1) ** 2) ** 0.5
        along, across = ((x - x1) / length * 9, (y - y1) / length * 9), 0.45
        left = (x - along[0] - along[1] * across, y - along[1] + along[0] * across)
        right = (x - along[0] + along[1] * across, y - along[1] - along[0] * across)
        head = " ".join(f"{a:.1f},{b:.1f}" for a, b in ((x, y), left, right))
        self._shapes.append(f'<polygon points="{head}" fill="{colour}"/>')

    def dot(self, x: float, y: float, colour: str) -> None:
        self._shapes.append(f'<circle cx="{x:g}" cy="{y:g}" r="5.5" fill="{colour}"/>')

    def cross(self, x: float, y: float) -> None:
        """Where something is lost."""
        for slope in (-1, 1):
            self.line((x - 8, y - 8 * slope), (x + 8, y + 8 * slope), colour=RED)

    def svg(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield self._head
        yield from self._shapes
        yield "</svg>\n"
