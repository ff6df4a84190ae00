"""Every component of our pages on one page: ``python -m tests.pages.design FILE`` writes it.

What a component looks like is in ``emulator/pages/frame.css`` and nowhere else. The page is what
``test_design.py`` holds the looks against.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from emulator.pages.frame import CONTROL_PLACES, COPY_BUTTONS, PageFrame

_STYLE: Final = Path(__file__).with_name("design.css")
_COLOURS: Final = (
    "paper", "band", "ink", "quiet", "line", "edge", "link", "pass", "fail", "open", "fault", "way", "again",
    "fail-band", "fault-band",
)  # fmt: skip
_BODY: Final = (Path(__file__).with_name("design.html")).read_text(encoding="utf-8")


def design_page() -> str:
    """The whole HTML document."""
    swatches = "".join(f'<li><i class="{each}"></i><code>--{each}</code></li>' for each in _COLOURS)
    frame = PageFrame(
        here="Design",
        places=dict.fromkeys(CONTROL_PLACES, "#content"),
        styles=(_STYLE,),
        scripts=(COPY_BUTTONS,),
    )
    return frame.render("Design", _BODY.replace("{swatches}", swatches))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(design_page(), encoding="utf-8")
