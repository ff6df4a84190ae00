"""What is known of the mutants that live: ``survivors.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path


def read_reasons() -> dict[str, str]:
    """The reason for each mutant that may live, by the line that the command prints of it."""
    written = Path(__file__).with_name("survivors.toml").read_text(encoding="utf-8")
    return {line: each["reason"] for each in tomllib.loads(written)["may_live"] for line in each["mutants"]}
