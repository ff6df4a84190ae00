"""Where a sandbox runs: Linux and macOS. The clients of a running one run anywhere."""

from __future__ import annotations

import sys
from typing import Final

WINDOWS: Final = (
    "the sandbox does not run on Windows itself; it runs in WSL, whose ports this machine reaches: "
    "https://learn.microsoft.com/windows/wsl/install"
)


def explain_unsupported() -> str | None:
    """One line that says what to do where no sandbox can run; None where one can."""
    # Compared by a variable, so that type checkers look at both branches.
    platform: str = sys.platform
    return WINDOWS if platform == "win32" else None
