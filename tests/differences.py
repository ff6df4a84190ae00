"""Where a behaviour of the suites that run in every profile cannot be had in one of them, and why."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product

import pytest

from tests.houses import PROFILES

PARAMETERS = {"bench": "* *", "stream_bench": "* *", "api": "*", "house": "*"}
"""The fixtures that take a profile, and how they name it: some with the kind of channel."""


@dataclass(frozen=True)
class Difference:
    """``why`` the test does not hold there. ``fails``: it is run, and is to fail; without, it is skipped."""

    why: str
    fails: bool = True


_TARGET = "test_what_strikes_a_target_does_so_at_a_message"
_NO_NETWORK = Difference("only containers can be taken off a network, and this profile has none", fails=False)
_OTHER_PROCESSES = Difference(
    "a process id would be one of the emulator's container; test_compose strikes containers", fails=False
)

DIFFERENCES: dict[tuple[str, str], Difference] = {
    (f"{_TARGET}[isolate]", "embedded"): _NO_NETWORK,
    (f"{_TARGET}[isolate]", "relay"): _NO_NETWORK,
    (f"{_TARGET}[isolate]", "localstack"): _NO_NETWORK,
    (_TARGET, "compose"): _OTHER_PROCESSES,
}
"""By the test, or one of its cases, and the profile, or the profile and the kind of channel."""


def mark_differences(items: list[pytest.Item]) -> None:
    """Skips and expected failures for what the table names."""
    for item in items:
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
            continue
        for parameter, form in PARAMETERS.items():
            where = str(item.callspec.params.get(parameter, ""))
            if where.partition(" ")[0] in PROFILES and fnmatchcase(where, form):
                _mark(item, where)


def _mark(item: pytest.Function, where: str) -> None:
    profile = where.partition(" ")[0]
    case = f"{item.originalname}[{item.callspec.id.removeprefix(where).removeprefix('-')}]"
    for test, place in product((item.originalname, case), (profile, where)):
        if found := DIFFERENCES.get((test, place)):
            mark = pytest.mark.xfail(reason=found.why) if found.fails else pytest.mark.skip(found.why)
            item.add_marker(mark)
