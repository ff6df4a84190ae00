"""The schemas of CI services, in the copies that check-jsonschema carries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def check_schema(schema: str, path: Path) -> None:
    """Check a file by a schema such as ``github-workflows``. AssertionError says what is wrong."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
