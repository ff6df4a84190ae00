"""What the page of the course and the port that shows it agree on."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from emulator.pages.frame import COPY_BUTTONS, PageFrame

COURSE_PAGE: Final = Path("learn/index.html")
"""Where ``sandbox learn`` writes its page, in the directory of a sandbox; the control port shows it."""
MADE_BY_THE_COURSE: Final = '<meta name="generator" content="sandbox learn">'
"""What that page has in its head. A project may have a file of that name for something else."""
LOAD_AGAIN: Final = "Load this page again after each command."
"""What that page says of itself; the control port's page needs no loading, and says something else."""
COURSE_FRAME: Final = PageFrame(
    here="Course",
    styles=(Path(__file__).with_name("course.css"),),
    scripts=(COPY_BUTTONS,),
    # For the script of the control port, which follows the course; a file has none.
    sources=("'self'",),
    allow=("connect-src 'self'",),
    head=f"{MADE_BY_THE_COURSE}\n",
)
