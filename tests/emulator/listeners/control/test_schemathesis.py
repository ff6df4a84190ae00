"""The control API against what it publishes, by requests that its description allows and that it does not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from emulator.assembly.embedded import Embedded

CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance", "negative_data_rejection", "unsupported_method",
)  # fmt: skip
# The requests put faults in force too, and what those do to a message is no error of the server.
SETTINGS = """
[[operations]]
include-name = ["POST /messages", "POST /samples", "POST /redriven", "POST /redriven/{id}"]
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", "502", "503"]
"""


@pytest.mark.slow
def test_the_api_is_as_published(emulator: Embedded, tmp_path: Path) -> None:
    """Schemathesis finds no error of the server, no answer of another shape, nothing bad that is taken.

    Every operation is asked: a clock that is moved, a reset, 10,000 shards and endless events included.
    """
    published = httpx.get(f"{emulator.control}/openapi.json", trust_env=False).json()["paths"]
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(SETTINGS)
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(settings),
        "run", f"{emulator.control}/openapi.json", "--request-timeout", "30",
        "--seed", "7", "--max-examples", "5", "--phases", "coverage,fuzzing", "--checks", ",".join(CHECKS),
        "--generation-database", "none", "--no-color",
    ]  # fmt: skip
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "NO_PROXY": "*"}
    found = subprocess.run(
        command, capture_output=True, text=True, timeout=150, env=environment, cwd=tmp_path, check=False
    )
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr
    tested = re.search(r"Tested: (\d+)", found.stdout)
    assert tested, found.stdout
    assert int(tested[1]) == sum(len(operations) for operations in published.values())
