"""The pytest fixtures that other projects get with the package."""

import pytest

pytest_plugins = ["pytester"]

_SUITE = """
import boto3

def test_a_fault_is_on(sandbox, sandbox_control):
    from rdss_sandbox.shapes import NewFault
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
"""


def test_a_suite_gets_a_sandbox_of_its_own_for_each_test(pytester: pytest.Pytester) -> None:
    """Two tests put faults and records into their own sandboxes through an unchanged boto3 client."""
    pytester.makepyfile(_SUITE)

    result = pytester.runpytest_subprocess("--sandbox-seed", "7", "-p", "no:randomly")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["sandbox: --sandbox-seed 7"])


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


def test_a_project_may_have_packages_of_our_names(pytester: pytest.Pytester) -> None:
    """A project with packages ``sandbox``, ``schemas``, ``emulator``, ``tui`` uses the fixtures."""
    for name in ("sandbox", "schemas", "emulator", "tui"):
        pytester.mkpydir(name).joinpath("__init__.py").write_text("MINE = True\n")
    pytester.makepyfile(_STRANGER)
    pytester.makeini("[pytest]\npythonpath = .\n")

    result = pytester.runpytest_subprocess("-p", "no:randomly")

    result.assert_outcomes(passed=1)
