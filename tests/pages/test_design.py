"""The design as a page: what each component is computed to, held against what was agreed.

Sizes, spaces and colours are compared, not points of a picture: fonts differ from machine to machine. Renew
the kept ones with ``python -m pytest tests/pages/test_design.py --snapshot-update``, and look at the page.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.chromium import Tab
from tests.pages.design import design_page

pytestmark = pytest.mark.browser

KEPT = Path(__file__).with_name("design.json")
_MEASURED = (
    "color", "background-color", "font-size", "font-weight", "line-height", "padding", "margin", "border",
    "border-radius", "display",
)  # fmt: skip
_MEASURE = f"""Object.fromEntries([...document.querySelectorAll('[data-part]')].map((each) => {{
    const style = getComputedStyle(each);
    const measured = {json.dumps(_MEASURED)}.map((name) => style.getPropertyValue(name));
    return [each.dataset.part, measured.join(' | ')];
}}))"""


def test_each_component_looks_as_agreed(tab: Tab, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """In light and dark, on a phone and on a screen."""
    file = tmp_path / "design.html"
    file.write_text(design_page(), encoding="utf-8")
    found = {}
    for scheme in ("light", "dark"):
        for width in (360, 1280):
            tab.size(width, 900)
            tab.prefer(prefers_color_scheme=scheme)
            tab.open(file.as_uri())
            found[f"{scheme}, {width}"] = tab.eval(_MEASURE)
    if request.config.getoption("update_snapshots"):
        KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert found == json.loads(KEPT.read_text(encoding="utf-8"))
