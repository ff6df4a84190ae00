"""The demonstration end to end, small, against an emulator with every fault on."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.demo.demo_verdict import Result
from sandbox.demo.demonstration import DemoTarget, Plan, demonstrate
from sandbox.judging.verdict import Verdict
from schemas.rdss.error_codes import ErrorCode
from tests.sandbox.demo.small_plan import shrink_plan

PLAN = shrink_plan(11, messages=60, sequences=1, bad=1, oversize=1, duplicates=0.2, delay=0)


def _demonstrate(plan: Plan, folder: Path) -> Result:
    folder.mkdir()
    settings = Settings(
        aws_port=0, control_port=0, amqp_port=0, data_dir=None, seed=plan.seed, amqp="embedded"
    )
    with embedded(settings) as emulator:
        aws = AwsEndpoint(emulator.aws, settings.region)
        place = DemoTarget(aws, emulator.control, folder, amqp=emulator.broker.url)
        return demonstrate(plan, place, lambda _what, _share: None)


@pytest.mark.slow
def test_every_line_holds_and_the_same_seed_says_the_same(tmp_path: Path) -> None:
    """Duplicates, delays, reshards, an oversize message, all 14 codes: as it must be, and twice the same."""
    first = _demonstrate(PLAN, tmp_path / "first")
    assert [line for line in first.lines if not line.holds] == []
    assert first.verdict is Verdict.PASS
    # The messages of the failures that could be sent are eight of nine.
    assert first.summary["sent"] == 60 + 2 + 6 + 1 + 8
    assert first.summary["processed_once"] == 61
    assert first.summary["duplicates_dropped"] > 5
    once = dict.fromkeys(map(str, ErrorCode), 1)
    assert first.summary["rejects"] == first.summary["rejects_expected"] == once | {"GENERR006": 2}
    (echo,) = [line for line in first.lines if line.claim == "own messages dropped by their sender"]
    assert (echo.observed, echo.expected) == ("1", "1")
    by_amqp = first.summary["amqp"]
    # All of the sixty, a sequence of two parts, a message for each of six codes, and one that grows.
    assert (by_amqp["sent"], by_amqp["processed_once"]) == (60 + 2 + 6 + 1, 61)
    assert by_amqp["rejects"] == dict.fromkeys(map(str, [*PLAN.queue.workload.bad, ErrorCode.GENERR006]), 1)
    assert by_amqp["duplicates_dropped"] > 1
    again = _demonstrate(PLAN, tmp_path / "again")
    assert again.lines == first.lines
    assert again.summary == first.summary
