"""Tapes: what they add to the sandbox."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.extension import Extension

EXTENSION: Final = Extension(name="tape")
