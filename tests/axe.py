"""Axe-core's rules on a page in a real browser: what the package axe-core-python carries, and no network."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from tests.chromium import Tab

_ASK = """axe.run(document, {iframes: false}).then((found) => found.violations.map((each) =>
    [each.id, each.impact, each.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]))"""


def find_violations(tab: Tab) -> list[Any]:
    """The violations of WCAG and of best practices: rule, impact, and the first elements of each."""
    axe = files("axe_core_python") / "axe.min.js"
    tab.eval(axe.read_text(encoding="utf-8") + ";1")
    found: list[Any] = tab.eval(_ASK)
    return found
