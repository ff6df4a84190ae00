"""The examples in Python reach gold."""

from __future__ import annotations

import sys

import pytest

from sandbox.certify.clause import Role
from sandbox.certify.trial import certify
from tests.docs.pages import ROOT
from tests.sandbox.certify.trials import build_trial


@pytest.mark.long
@pytest.mark.timeout(420)
@pytest.mark.parametrize("role", Role)
def test_it_reaches_gold(role: Role) -> None:
    """Every clause of delivery and of the contract passes, with boto3 and jsonschema alone."""
    trial = build_trial(role, sys.executable, str(ROOT / f"examples/python/{role}.py"))
    certificate, _ = certify(trial, lambda _doing: None)
    assert (certificate.failed, certificate.missed, certificate.level) == ((), (), "gold")


@pytest.mark.parametrize("ending", ["py", "mjs", "java"])
def test_nothing_of_ours_is_inside(ending: str) -> None:
    """No client imports a package of the sandbox: what is copied works without it."""
    extensions = {metadata.parent for metadata in (ROOT / "examples").glob("*/pyproject.toml")}
    files = (ROOT / "examples").rglob(f"*.{ending}")
    programs = [file for file in files if extensions.isdisjoint(file.parents)]
    assert len(programs) >= 3
    for program in programs:
        lines = program.read_text(encoding="utf-8").splitlines()
        imports = [line for line in lines if line.strip().startswith(("import ", "from "))]
        assert not [
            line
            for line in imports
            if {"sandbox", "emulator", "schemas", "rdss_sandbox", "tui"} & {*line.replace(".", " ").split()}
        ]
