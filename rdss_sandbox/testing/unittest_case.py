"""A sandbox for unittest."""

from __future__ import annotations

import atexit
import functools
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from rdss_sandbox.machine.project_table import read_project
from rdss_sandbox.testing.configuration import read_configuration
from rdss_sandbox.testing.processes import Processes
from rdss_sandbox.testing.sandbox import Sandbox

_processes = Processes()
atexit.register(_processes.close)


class SandboxTestCase(unittest.TestCase):
    """Each test has an empty sandbox, ``self.sandbox``; all of a run share its process.

    A class configures it with ``sandbox_configuration``, whose names are those of ``Configuration``, over
    ``[tool.rdss-sandbox]`` of the working directory's ``pyproject.toml``.
    """

    sandbox_configuration: ClassVar[dict[str, Any]] = {}
    sandbox: Sandbox

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        directory = Path()
        given = read_project(directory), self.sandbox_configuration
        configuration = read_configuration(type(self).__name__, *given, directory=directory)
        method = getattr(self, self._testMethodName)
        with Sandbox.configured(configuration, _processes) as self.sandbox:
            setattr(self, self._testMethodName, _explaining(method, self.sandbox))
            return super().run(result)


def _explaining(method: Callable[[], object], sandbox: Sandbox) -> Callable[[], object]:
    """The test method; an exception that leaves it has a note with what the sandbox saw."""

    @functools.wraps(method)
    def run() -> object:
        try:
            return method()
        except unittest.SkipTest:
            raise
        except Exception as error:
            error.add_note(f"the sandbox (seed {sandbox.seed}):\n{sandbox.report()}")
            raise

    return run
