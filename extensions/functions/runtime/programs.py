"""Which program runs a version of a function on this machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from extensions.functions.engine.errors import BadValueError
from extensions.functions.engine.function import LATEST, Place, Version
from extensions.functions.runtime.environment import Program

_HERE: Final = Path(__file__).parent
_INHERITED: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV")
CUSTOM: Final = ("provided", "provided.al2", "provided.al2023")


def check_runtime(runtime: str) -> None:
    """Raise BadValueError for a runtime that this machine does not have."""
    if runtime.startswith("python3") or runtime in CUSTOM:
        return
    if not runtime.startswith("nodejs"):
        raise BadValueError(
            f"Value {runtime} at 'runtime' failed to satisfy constraint: this sandbox runs python3.x and "
            f"nodejs as this machine has them, and {', '.join(CUSTOM)}"
        )
    if shutil.which("node") is None:
        raise BadValueError(f"{runtime} needs Node, and there is no program node on the sandbox's PATH")


def build_program(place: Place, version: Version, folder: Path, access: Mapping[str, str]) -> Program:
    """The program of a version with code in a folder. ``access`` leads SDKs to the sandbox."""
    variables = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    variables |= access
    variables |= {
        "TZ": ":UTC",
        "_HANDLER": version.handler,
        "LAMBDA_TASK_ROOT": str(folder),
        "LAMBDA_RUNTIME_DIR": str(_HERE),
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{version.runtime}",
        "AWS_LAMBDA_FUNCTION_NAME": place.name,
        "AWS_LAMBDA_FUNCTION_VERSION": version.number,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(version.memory),
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "PYTHONUNBUFFERED": "1",
        **version.environment,
    }
    return Program(
        command=_command(version, folder),
        variables=variables,
        folder=str(folder),
        function=place.name,
        version=version.number,
        arn=place.arn if version.number == LATEST else f"{place.arn}:{version.number}",
        timeout=version.timeout,
        memory=version.memory,
    )


def _command(version: Version, folder: Path) -> tuple[str, ...]:
    if version.runtime in CUSTOM:
        return (str(folder / "bootstrap"),)
    if version.runtime.startswith("nodejs"):
        most = f"--max-old-space-size={version.memory}"
        return (shutil.which("node") or "node", most, str(_HERE / "node_bootstrap.mjs"))
    return (sys.executable, "-P", str(_HERE / "python_bootstrap.py"))
