"""An empty environment with what pip installs of this project, and how much that is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_MEASURE = """
import json
from importlib.metadata import distributions

files = {each.name: [place for file in each.files or () if (place := each.locate_file(file)).exists()]
         for each in distributions() if each.name not in {"pip", "setuptools"}}
sizes = {name: sum(place.stat().st_blocks * 512 for place in found) for name, found in files.items()}
print(json.dumps(sizes))
"""


class Size(NamedTuple):
    """What is installed beside pip: how many packages, and the bytes that they take on the disk."""

    packages: int
    bytes: int


@dataclass(frozen=True)
class Environment:
    """A virtual environment that knows nothing of this checkout."""

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    def run(self, *command: str | Path, cwd: Path, **variables: str) -> str:
        """Run a command of the environment, and return what it wrote; one that fails fails the test."""
        ran = self.start(*command, cwd=cwd, **variables)
        assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
        return ran.stdout

    def start(self, *command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SANDBOX_"))
        }
        settings = {"PIP_CONSTRAINT": str(ROOT / "constraints.txt"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        program, *rest = command
        return subprocess.run(
            [self.bin / program, *rest],
            cwd=cwd,
            env={**kept, **settings, "PATH": f"{self.bin}{os.pathsep}{kept['PATH']}", **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=800,
        )

    def measure(self) -> Size:
        sizes = json.loads(self.run("python", "-c", _MEASURE, cwd=self.folder))
        return Size(len(sizes), sum(sizes.values()))


def create_environment(folder: Path, *packages: str | Path) -> Environment:
    """Make an environment and install these into it."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    made = Environment(folder)
    made.run("python", "-m", "pip", "install", "--quiet", *packages, cwd=folder)
    return made
