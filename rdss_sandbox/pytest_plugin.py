"""The pytest plugin for users' test suites: an empty sandbox for each test, module or session.

It is installed with the package. Nothing is imported or started before a test names a fixture. The tests of a
worker share a process, which is reset between them. ``--sandbox-seed N`` repeats the random choices of an
earlier run.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeGuard

import pytest

from rdss_sandbox.machine.project_table import ConfigurationError, read_project

if TYPE_CHECKING:
    from rdss_sandbox.client import Client
    from rdss_sandbox.testing import Sandbox

_FIXTURES = ("sandbox", "sandbox_module", "sandbox_session")
_MARK = (
    "sandbox(topology, seed, limits, lambda_loaders, services, faults, clock, snapshot): what the sandbox of "
    "a test or module is like; the same stands for all tests under [tool.rdss-sandbox] in pyproject.toml"
)
_SEED_BYTES = 4
_WORKER_SEED = "rdss_sandbox_seed"
_seed = pytest.StashKey[int]()
_processes = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rdss-sandbox")
    group.addoption(
        "--sandbox-seed", type=int, metavar="N", help="the seed of everything random in the fixtures"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)
    try:
        config.stash[_seed] = _choose_seed(config)
    except ConfigurationError as error:
        raise pytest.UsageError(str(error)) from error


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a worker of pytest-xdist the seed of the run."""
    node.workerinput[_WORKER_SEED] = node.config.stash[_seed]


def pytest_report_header(config: pytest.Config) -> str:
    return f"sandbox: --sandbox-seed {config.stash[_seed]}"


def pytest_unconfigure(config: pytest.Config) -> None:
    if _processes in config.stash:
        config.stash[_processes].close()


@pytest.fixture
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """An empty sandbox for a test, as its mark ``sandbox`` says; see ``rdss_sandbox.testing.Sandbox``.

    The AWS environment variables point at it, so an AWS SDK that the test makes needs no configuration.
    """
    with _configured(request) as running:
        yield running


@pytest.fixture(scope="module")
def sandbox_module(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox that all tests of a module share, as the module's ``pytestmark`` says."""
    with _configured(request) as running:
        yield running


@pytest.fixture(scope="session")
def sandbox_session(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox that all tests of a worker share, as ``pyproject.toml`` says."""
    with _configured(request) as running:
        yield running


@pytest.fixture
def sandbox_control(sandbox: Sandbox) -> Client:
    """The client of the control API of ``sandbox``."""
    return sandbox.client


def _choose_seed(config: pytest.Config) -> int:
    """The run's seed: that of the command line, of ``pyproject.toml``, or a random one."""
    given: int | None = getattr(config, "workerinput", {}).get(
        _WORKER_SEED, config.getoption("--sandbox-seed")
    )
    if given is None:
        given = read_project(config.rootpath).get("seed")
    return int.from_bytes(os.urandom(_SEED_BYTES)) if given is None else given


@contextmanager
def _configured(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Run a sandbox as the marks of the requesting test, module or session say."""
    from rdss_sandbox.client import RefusedError
    from rdss_sandbox.process import SandboxNotStartedError
    from rdss_sandbox.testing import Sandbox
    from rdss_sandbox.testing.configuration import read_configuration
    from rdss_sandbox.testing.processes import Processes

    config, node = request.config, request.node
    marks = [*node.iter_markers("sandbox")]
    if any(mark.args for mark in marks):
        pytest.fail("the mark sandbox takes its words by name, as in sandbox(seed=7)", pytrace=False)
    problem = ""
    try:
        configuration = read_configuration(
            f"the sandbox of {node.nodeid or 'the session'}",
            read_project(config.rootpath),
            {"seed": config.stash[_seed]},
            *(mark.kwargs for mark in reversed(marks)),
            directory=config.rootpath,
        )
        processes = config.stash.setdefault(_processes, Processes())
        running = Sandbox.configured(configuration, processes).__enter__()
    except (ConfigurationError, RefusedError, SandboxNotStartedError) as error:
        problem = str(error)
    if problem:
        pytest.fail(problem, pytrace=False)
    try:
        yield running
    finally:
        running.__exit__(None, None, None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    # One without words may be a mark of the project's own.
    marked = any(mark.name == "sandbox" and mark.kwargs for mark in item.own_markers)
    if marked and not set(_FIXTURES) & set(getattr(item, "fixturenames", ())):
        pytest.fail(f"the mark 'sandbox' is for a test with a fixture: {', '.join(_FIXTURES)}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    """Add what the sandbox saw to the report of a test that failed."""
    report = yield
    if report.failed and call.when != "teardown":
        for name in _FIXTURES:
            running = getattr(item, "funcargs", {}).get(name)
            if _is_ours(running):
                report.sections.append((f"fixture {name}", _tell(item, running)))
    return report


def _is_ours(value: object) -> TypeGuard[Sandbox]:
    """Whether a fixture's value is a sandbox; a project may have one of that name for something else."""
    module = sys.modules.get("rdss_sandbox.testing.sandbox")
    return module is not None and isinstance(value, module.Sandbox)


def _tell(item: pytest.Item, running: Sandbox) -> str:
    repeat = shlex.join(["pytest", item.nodeid, "--sandbox-seed", str(item.config.stash[_seed])])
    return f"seed {running.seed}; repeat with: {repeat}\n{running.report()}"
