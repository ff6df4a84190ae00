"""The embedded profile: everything in one process, with an engine of its own."""

from __future__ import annotations

from sandbox.profiles.in_process import serve as run

__all__ = ["run"]
