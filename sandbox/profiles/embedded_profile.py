"""The embedded profile: everything in one process, with the sandbox's own stream engine."""

from __future__ import annotations

from sandbox.profiles.in_process import serve as run

__all__ = ["run"]
