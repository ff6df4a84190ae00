"""The pytest fixtures that other projects get with the package."""

import resource
import subprocess
import sys
from pathlib import Path
from time import process_time

import pytest

from emulator.assembly.embedded import embedded
from emulator.machine import process_ids
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.messages import NewMessage
from rdss_sandbox.testing import Configuration, Sandbox
from rdss_sandbox.testing.processes import Processes
from tests.waiting import wait_until

pytest_plugins = ["pytester"]


class _KeptModules:
    """In place of what pytester puts back: a module that it forgot would be there twice for later tests."""

    def restore(self) -> None: ...


@pytest.fixture
def pytester(pytester: pytest.Pytester) -> pytest.Pytester:
    """pytester, for suites in processes of their own."""
    pytester._sys_modules_snapshot = _KeptModules()  # type: ignore[assignment]
    return pytester


_SUITE = """
import boto3

def test_a_fault_is_on(sandbox, sandbox_control):
    from rdss_sandbox import NewFault
    kinesis = boto3.client("kinesis")
    sandbox_control.add_fault(NewFault(type="throttle", channel="input", limit=1))
    try:
        kinesis.put_record(StreamName="input", Data=b"{}", PartitionKey="k")
    except kinesis.exceptions.ProvisionedThroughputExceededException:
        pass
    assert [fault.injected for fault in sandbox_control.faults()] == [1]

def test_nothing_is_left_of_it(sandbox, sandbox_control):
    assert not sandbox_control.faults()
    assert boto3.client("kinesis").describe_stream_summary(StreamName="input")
    assert sandbox.seed == 7

def test_messages_go_through_amqp(sandbox, sandbox_control):
    import pika
    from contextlib import closing
    with closing(pika.BlockingConnection(pika.URLParameters(sandbox.amqp))) as connection:
        channel = connection.channel()
        channel.queue_declare("input")
        channel.basic_publish("", "input", b"hello")
        assert channel.basic_get("input")[2] == b"hello"
"""


def test_a_suite_gets_a_sandbox_of_its_own_for_each_test(pytester: pytest.Pytester) -> None:
    """They put faults, records and messages into their own sandboxes through unchanged boto3 and pika."""
    pytester.makepyfile(_SUITE)

    result = pytester.runpytest_subprocess("--sandbox-seed", "7", "-p", "no:randomly")

    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["sandbox: --sandbox-seed 7"])


@pytest.mark.slow
def test_a_suite_that_asks_for_no_sandbox_pays_nothing_for_it(pytester: pytest.Pytester) -> None:
    """The plugin alone loads no other package of ours, and none of what these need."""
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            ours = {"emulator", "sandbox", "tui", "schemas"} & set(sys.modules)
            assert not ours | ({"boto3", "httpx", "msgspec", "moto"} & set(sys.modules))
        """
    )

    pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=1)


_STRANGER = """
import schemas, sandbox as own

def test_my_packages_are_mine(sandbox, sandbox_control):
    assert own.MINE and schemas.MINE
    assert [stream.name for stream in sandbox_control.streams()]
"""


@pytest.mark.slow
def test_a_project_may_have_packages_of_our_names(pytester: pytest.Pytester) -> None:
    """A project with packages ``sandbox``, ``schemas``, ``emulator``, ``tui`` uses the fixtures."""
    for name in ("sandbox", "schemas", "emulator", "tui"):
        pytester.mkpydir(name).joinpath("__init__.py").write_text("MINE = True\n")
    pytester.makepyfile(_STRANGER)
    pytester.makeini("[pytest]\npythonpath = .\n")

    result = pytester.runpytest_subprocess("-p", "no:randomly")

    result.assert_outcomes(passed=1)


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run a suite with our plugin and pytest-xdist alone; those of this environment take seconds to load."""
    pytester._monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester.runpytest_subprocess("-p", "rdss_sandbox.pytest_plugin", "-p", "xdist", *arguments)


_SCOPES = """
import pytest

pytestmark = pytest.mark.sandbox(faults=["duplicate"])
pids = set()

@pytest.mark.parametrize("number", range(3))
def test_each_has_an_empty_one(sandbox, sandbox_control, number):
    assert sandbox_control.messages().total == 0
    sandbox.send("one")
    assert len(sandbox.stream("input").records()) == 2
    pids.add(sandbox.pid)

@pytest.mark.sandbox(clock="2026-01-01T00:00:00Z", faults=[], topology="mine.toml")
def test_the_nearest_mark_wins(sandbox):
    assert sandbox.clock.read().time < 1_767_225_900
    sandbox.send("one", "mine")
    assert len(sandbox.stream("mine").records()) == 1
    assert sandbox.pid not in pids

@pytest.mark.parametrize("number", range(1, 3))
def test_a_module_shares_one(sandbox_module, sandbox, number):
    sandbox_module.send("one")
    assert len(sandbox_module.stream("input").records()) == 2 * number
    assert sandbox.client.messages().total == 0

@pytest.mark.parametrize("number", range(1, 3))
def test_a_session_shares_one_that_no_mark_of_a_module_configures(sandbox_session, number):
    sandbox_session.send("one")
    assert len(sandbox_session.stream("input").records()) == number

def test_one_process_did(sandbox):
    assert len(pids) == 1
    assert sandbox.client.status().seed == 11
"""


def test_a_test_a_module_and_a_session_have_one_as_they_configure_it(pytester: pytest.Pytester) -> None:
    """One process serves the tests that want the same; marks and pyproject.toml say what each begins with."""
    pytester.makepyfile(_SCOPES)
    pytester.path.joinpath("mine.toml").write_text("[streams]\nmine = 1\n")
    pytester.path.joinpath("pyproject.toml").write_text(
        "[tool.rdss-sandbox]\nseed = 11\n[tool.pytest.ini_options]\n"
    )

    result = run(pytester)

    result.assert_outcomes(passed=9)
    result.stdout.fnmatch_lines(["sandbox: --sandbox-seed 11"])


_SNAPSHOT = """
import pytest

@pytest.mark.sandbox(snapshot="lesson-3", seed=7)
@pytest.mark.parametrize("number", range(2))
def test_each_begins_as_it(sandbox, number):
    assert [record.data for record in sandbox.stream("input").records()] == [b"saved"]
    assert sandbox.client.status().seed == 7
    sandbox.send("more")

def test_another_is_empty(sandbox):
    assert sandbox.client.messages().total == 0

@pytest.mark.sandbox(snapshot="lesson-4")
def test_there_is_none_of_that_name(sandbox):
    pass
"""


def test_a_mark_names_the_snapshot_that_a_test_begins_as(pytester: pytest.Pytester) -> None:
    """One that a sandbox of the project saved; where there is none, the test says which there are."""
    settings = Settings(data_dir=pytester.path / ".sandbox" / "data", aws_port=0, control_port=0, seed=1)
    with embedded(settings) as emulator, Client(emulator.control) as client:
        client.send(NewMessage("input", b"saved"))
        client.snapshots.save("lesson-3")
    pytester.makepyfile(_SNAPSHOT)

    result = run(pytester)

    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*no snapshot is named 'lesson-4'; there are: lesson-3*"])


_FAILING = """
import pytest

def test_it_fails(sandbox):
    sandbox.faults.add("duplicate")
    sandbox.reshard.split("input")
    sandbox.send({"messageHeader": {"messageId": "m-1"}})
    sandbox.send({"messageHeader": {"messageId": "m-1", "errorCode": "GENERR004"}}, "error")
    assert False

@pytest.mark.sandbox(colour="blue")
def test_the_mark_is_wrong(sandbox):
    pass

@pytest.mark.sandbox(seed=3)
def test_the_fixture_is_missing():
    pass
"""


def test_a_failure_says_what_the_sandbox_saw_and_how_to_repeat_it(pytester: pytest.Pytester) -> None:
    """From a worker of pytest-xdist too, whose seed is that of the run."""
    pytester.makepyfile(test_mine=_FAILING)

    result = run(pytester, "-n", "1")

    result.assert_outcomes(failed=1, errors=2)
    header = next(line for line in result.outlines if line.startswith("sandbox: --sandbox-seed "))
    seed = header.rpartition(" ")[2]
    result.stdout.fnmatch_lines(
        [
            "*- fixture sandbox -*",
            f"seed {seed}; repeat with: pytest test_mine.py::test_it_fails --sandbox-seed {seed}",
            "messages by outcome:",
            "  error 2 (2 GENERR004, 1 duplicate)",
            "  input 2 (1 duplicate)",
            "faults in force:",
            "  duplicate on ?*: struck 2 times",
            "readers:",
            "  without a reader: *input*",
            "last events:",
            "  ??:??:??.??? stream.resharded stream=input action=split *",
            "  ??:??:??.??? fault.injected *message_id=m-1 *",
        ]
    )
    result.stdout.fnmatch_lines(["*the sandbox of test_mine.py::test_the_mark_is_wrong: *colour*"])
    result.stdout.fnmatch_lines(
        ["the mark 'sandbox' is for a test with a fixture: sandbox, sandbox_module, sandbox_session"]
    )


def test_a_project_may_have_a_fixture_and_a_mark_of_our_names(pytester: pytest.Pytester) -> None:
    """They are the project's; a failure with them is reported as any other."""
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def sandbox():
            return "mine"

        @pytest.mark.sandbox
        def test_mark():
            pass

        def test_fixture(sandbox):
            assert sandbox == "ours"
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E *AssertionError: assert 'mine' == 'ours'"])


_UNITTEST = """
import boto3
import unittest
from rdss_sandbox.testing import SandboxTestCase

class Mine(SandboxTestCase):
    sandbox_configuration = {"faults": ["duplicate"], "seed": 7}

    def setUp(self):
        self.sandbox.send("one")

    def test_one(self):
        self.assertEqual(len(self.sandbox.stream("input").records()), 2)

    def test_two(self):
        self.assertEqual(self.sandbox.client.messages().total, 2)
        self.assertEqual(self.sandbox.seed, 7)

    def test_that_fails(self):
        self.sandbox.assert_rejected("m-1")

    @unittest.skip("for a reason")
    def test_skipped(self):
        raise RuntimeError
"""


def test_unittest_has_the_same(tmp_path: Path) -> None:
    """Each test begins with an empty sandbox; a failure has a note with what it saw."""
    (tmp_path / "test_mine.py").write_text(_UNITTEST)
    ran = subprocess.run(
        [sys.executable, "-m", "unittest", "-v", "test_mine"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "FAILED (failures=1, skipped=1)" in ran.stderr, ran.stderr
    assert "Ran 4 tests" in ran.stderr
    assert "m-1 was not rejected" in ran.stderr
    assert "the sandbox (seed 7):\nmessages by outcome:\n  input 2" in ran.stderr


_MANY = """
import boto3, pytest

@pytest.mark.parametrize("number", range(200))
def test_it(sandbox, number):
    sandbox.send([str(number)])
    sandbox.faults.add("throttle")
    assert len(sandbox.stream("input").records()) == 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "auto"])
def test_two_hundred_tests_take_seconds(pytester: pytest.Pytester, workers: str) -> None:
    """Ten seconds on two idle cores; here in time of processors, since others use these at the same time.

    A worker of pytest-xdist starts a Python, a pytest and a sandbox of its own before its first test.
    """
    pytester.makepyfile(_MANY)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(pytester, "-n", workers).assert_outcomes(passed=200)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < (10 if workers == "0" else 20)


def processor_seconds(pid: int) -> float:
    """The time that a process has had on a processor, which a busy machine does not stretch."""
    times = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in times) / 1e9


def test_a_reset_between_tests_takes_milliseconds() -> None:
    """Twenty at most of both processes together, after a test with faults and a reshard."""
    used = []
    processes = Processes()
    for _ in range(20):
        before, here = {}, process_time()
        for process in processes._idle:
            before[process.running.pid] = processor_seconds(process.running.pid)
        with Sandbox.configured(Configuration(seed=7), processes) as sandbox:
            if sandbox.pid in before:
                there = processor_seconds(sandbox.pid) - before[sandbox.pid]
                used.append(process_time() - here + there)
            sandbox.faults.add("duplicate")
            sandbox.send(["x"] * 10)
            sandbox.reshard.split("input")
    processes.close()
    assert len(used) == 19
    assert sum(used) / len(used) < 0.02, used


def test_the_sandbox_ends_with_a_run_that_is_killed(pytester: pytest.Pytester) -> None:
    """SIGKILL leaves no process behind."""
    pytester.makepyfile(
        """
        import os, pathlib, signal

        def test_it(sandbox):
            pathlib.Path("pid").write_text(str(sandbox.pid))
            os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    run(pytester)

    pid = int(pytester.path.joinpath("pid").read_text())
    wait_until(lambda: process_ids.start_time(pid) is None or process_ids.state(pid) == "Z")
