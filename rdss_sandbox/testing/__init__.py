"""A sandbox for tests: in a process of its own, in memory, on free ports, gone afterwards.

    from rdss_sandbox.testing import Sandbox

    with Sandbox(seed=7, faults=["duplicate"]) as sandbox:
        sandbox.send("one")
        assert len(sandbox.stream("input").records()) == 2

``async with Sandbox()`` gives an ``AsyncSandbox``, whose methods are awaited. The fixtures ``sandbox``,
``sandbox_module`` and ``sandbox_session`` of the pytest plugin give a ``Sandbox``, and ``SandboxTestCase``
is for unittest. ``SandboxContainer`` is a ``Sandbox`` in a container.
"""

from rdss_sandbox.machine.project_table import ConfigurationError
from rdss_sandbox.testing.configuration import Configuration
from rdss_sandbox.testing.container import SandboxContainer
from rdss_sandbox.testing.findings import NotDiagnosedError
from rdss_sandbox.testing.sandbox import AsyncSandbox, Sandbox
from rdss_sandbox.testing.stream_records import Record, RejectQueue, SandboxStream
from rdss_sandbox.testing.unittest_case import SandboxTestCase

__all__ = [
    "AsyncSandbox",
    "Configuration",
    "ConfigurationError",
    "NotDiagnosedError",
    "Record",
    "RejectQueue",
    "Sandbox",
    "SandboxContainer",
    "SandboxStream",
    "SandboxTestCase",
]
