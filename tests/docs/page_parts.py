"""The parts of a page of ``docs/`` that the code writes: from ``<!-- the mark -->`` to ``<!-- end -->``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path


def renew_part(page: str, mark: str, text: str) -> str:
    """Put the text behind the mark, up to the end. Raises ValueError unless the mark is there once."""
    pattern = rf"(<!-- {mark} -->).*?(<!-- end -->)"
    page, count = re.subn(pattern, lambda found: found[1] + text + found[2], page, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the page has {count} places marked {mark!r}, and needs one")
    return page


def renew_file(renewed: Callable[[str], str]) -> None:
    """Renew the page whose path is the program's argument."""
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
