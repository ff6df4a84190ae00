"""The size bound: no Python file over 500 lines, the TUI's app.py not over 200."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BOUND = 500
BOUNDS = {"tui/app.py": 200}


def oversized(root: Path) -> list[str]:
    """One line for each tracked or new Python file beyond its bound."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    names = subprocess.run(listed, cwd=root, capture_output=True, text=True, check=True).stdout.split()
    found = []
    for name in names:
        path = root / name
        lines = path.read_bytes().count(b"\n") if path.exists() else 0
        if lines > (bound := BOUNDS.get(name, BOUND)):
            found.append(f"{name}: {lines} lines, the bound is {bound}")
    return found


if __name__ == "__main__":
    if found := oversized(Path(__file__).resolve().parent.parent):
        sys.exit("\n".join(found))
