"""Messages that are no lines of text go through files as lines all the same, and none is lost between two."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from rdss_sandbox.testing import Sandbox
from tests.schemas.asyncapi.documents import FOLDER

_DOCUMENT: Final = str(FOLDER / "avro_binary.yaml")


def _run(folder: Path, sandbox: Sandbox, *words: str, stdin: str = "") -> list[str]:
    variables = {"SANDBOX_CONTROL": sandbox.control, "SANDBOX_CONTRACT": _DOCUMENT}
    ran = subprocess.run(
        [sys.executable, "-m", "sandbox", *words],
        cwd=folder,
        env={**os.environ, **variables},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_binary_avro_goes_through_every_command(tmp_path: Path) -> None:
    """Sampled, judged, sent, received and listed: the same six messages each time."""
    with Sandbox(contract=_DOCUMENT) as sandbox:
        made = _run(tmp_path, sandbox, "message", "sample", "--count", "6", "--seed", "3")
        text = "\n".join(made)
        assert len(made) == 6
        judged = _run(tmp_path, sandbox, "message", "validate", "-", "--json", stdin=text)
        assert [json.loads(each)["code"] for each in judged] == [None] * 6
        _run(tmp_path, sandbox, "send", "-", stdin=text)
        assert sorted(_run(tmp_path, sandbox, "receive", "--json")) == sorted(made)
        listed = _run(tmp_path, sandbox, "messages", "--raw", "--filter", "stream:invoices")
        assert sorted(listed) == sorted(made)
