"""The control API against what it publishes, by requests that its description allows and that it does not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from emulator.embedded import Embedded

LEFT_OUT = "^/(buckets|clock|events|reset|populate|audit|streams/.*/reshard)"
"""What waits, never ends, or works long for large numbers; other tests ask them."""
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance", "negative_data_rejection", "unsupported_method",
)  # fmt: skip


def test_the_api_is_as_published(emulator: Embedded, tmp_path: Path) -> None:
    """Schemathesis finds no error of the server, no answer of another shape, nothing bad that is taken."""
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "run", f"{emulator.control}/openapi.json",
        "--seed", "7", "--max-examples", "5", "--phases", "coverage,fuzzing", "--checks", ",".join(CHECKS),
        "--exclude-path-regex", LEFT_OUT, "--generation-database", "none", "--no-color",
    ]  # fmt: skip
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "NO_PROXY": "*"}
    found = subprocess.run(
        command, capture_output=True, text=True, timeout=150, env=environment, cwd=tmp_path, check=False
    )
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr
    tested = re.search(r"Tested: (\d+)", found.stdout)
    assert tested, found.stdout
    assert int(tested[1]) >= 20
