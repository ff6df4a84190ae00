"""The command that a screen shows for a request is one that can be typed, and does the same."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from emulator.assembly.embedded import Embedded
from emulator.faults.common_settings import COMMON_SETTINGS
from emulator.faults.registry import TYPES
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import Fault, NewFault
from rdss_sandbox.shapes.shell_commands import DescribedRequest
from rdss_sandbox.shapes.streams import Reshard
from rdss_sandbox.text.shell_commands import option_name
from tests.sandbox.cli.conftest import Ran

SAMPLES = {"number": 0.5, "integer": 2, "text": "it's", "flag": True, "duration": "1m"}


@pytest.fixture
def type_same(emulator: Embedded, sandbox: Callable[..., Ran]) -> Callable[..., Ran]:
    """Types the command for a request, against the test's sandbox."""

    def run(method: str, path: str, body: object = None) -> Ran:
        described = DescribedRequest(method, path, msgspec.to_builtins(body))
        with Client(emulator.control) as client:
            command = client.command_for(described).command
        words = shlex.split(command)
        assert words.pop(0) == "sandbox"
        return sandbox(*words, "--control", emulator.control)

    return run


def test_an_attribute_gives_way_to_a_setting_of_every_fault() -> None:
    """Both have an option of one name: that of the attribute begins with its type."""
    assert [option_name("x", each.name) for each in COMMON_SETTINGS] == [
        f"--x-{each.name}" for each in COMMON_SETTINGS
    ]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/clock", {"action": "set", "time": 1e300}),
        ("/clock", {"action": "advance", "seconds": 1e308}),
        ("/faults", {"type": "duplicate", "when": {"match": 3}}),
        ("/faults", {"type": "duplicate", "when": {"after": None, "every": [1]}}),
    ],
)
def test_the_command_for_what_cannot_be_is_refused_as_the_request_is(
    emulator: Embedded, type_same: Callable[..., Ran], path: str, body: dict[str, Any]
) -> None:
    """A request that would be refused has a command all the same, and that says what is wrong."""
    ran = type_same("POST", path, body)
    assert ran.code != 0
    assert "Traceback" not in ran.err
    with Client(emulator.control) as client:
        assert client.faults() == ()


@pytest.mark.parametrize("name", TYPES)
def test_a_fault_of_each_type_with_all_that_can_be_set(
    emulator: Embedded, type_same: Callable[..., Ran], name: str
) -> None:
    """What the request puts in force, the command puts in force, or both are refused for the same."""
    type_ = TYPES[name]
    attributes = {
        each.name: each.default
        if each.default not in {None, ""}
        else (*each.choices, SAMPLES.get(each.type))[0]
        for each in type_.attributes
    }
    when = {
        "at": "5s",
        "for": "1h",
        "after": 1,
        "first": 6,
        "every": 3,
        "fails": 2,
        "match": {"channel": "in*"},
    }
    wanted = NewFault(name, "a b", "in*", type_.directions[-1], 0.25, attributes, when, 9)
    with Client(emulator.control) as client:

        def add() -> Fault | str:
            try:
                client.add_fault(wanted)
                return client.remove_fault("a b")
            except RefusedError as error:
                return str(error)

        added = add()
        ran = type_same("POST", "/faults", wanted)
        if isinstance(added, str):
            assert added in ran.err
        else:
            assert [*client.faults()] == [added], ran.err


def test_a_time_and_a_number_keep_every_digit(emulator: Embedded, type_same: Callable[..., Ran]) -> None:
    with Client(emulator.control) as client:
        type_same("POST", "/clock", ClockChange("freeze"))
        type_same("POST", "/clock", ClockChange("set", time=1772366400.25))
        assert client.clock().time == 1772366400.25
        type_same("POST", "/clock", ClockChange("advance", seconds=1234567.5))
        assert client.clock().time == 1772366400.25 + 1234567.5


def test_shards_are_those_of_the_request(emulator: Embedded, type_same: Callable[..., Ran]) -> None:
    with Client(emulator.control) as client:
        type_same("POST", "/streams/input/reshard", Reshard("split", "1", hash_key=str(3 << 126)))
        type_same("POST", "/streams/input/reshard", Reshard("merge", "2", "3"))
        type_same("POST", "/streams/output/reshard", Reshard("scale", count=4))
        assert [each.id[-1] for each in client.stream("input").shards if each.open] == ["0", "4"]
        assert client.stream("output").open_shards == 4


def test_what_has_no_command_is_refused_and_nothing_is_done(api: Any) -> None:
    with pytest.raises(RefusedError) as refused:
        api.command_for(DescribedRequest("POST", "/populate"))
    assert (refused.value.code, refused.value.status) == ("no_command", 404)
    assert "POST /populate" in str(refused.value)
    with pytest.raises(RefusedError) as refused:
        api.command_for(DescribedRequest("POST", "/faults", {"type": 1}))
    assert refused.value.status == 400
    api.command_for(DescribedRequest("POST", "/faults", {"type": "duplicate"}))
    assert api.faults() == ()


@pytest.fixture
def api(emulator: Embedded) -> Any:
    with Client(emulator.control) as client:
        yield client
