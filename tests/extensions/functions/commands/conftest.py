"""What the tests of every command have."""

from __future__ import annotations

from tests.sandbox.cli.conftest import ask, elsewhere, emulator, process, sandbox
