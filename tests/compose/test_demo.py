"""The demonstration through the stack."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdss_sandbox.client import Client
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.demo.demonstration import DemoTarget, demonstrate
from sandbox.judging.verdict import Verdict
from tests.compose.stack import Stack
from tests.sandbox.demo.small_plan import shrink_plan

pytestmark = [pytest.mark.xdist_group("compose"), pytest.mark.compose, pytest.mark.timeout(600)]

# Megabytes take LocalStack's Kinesis seconds each: oversize messages have tests over our own engine.
PLAN = shrink_plan(1, messages=60, sequences=0, bad=1, oversize=0, duplicates=0.1, failures=())


def test_the_demonstration_holds(stack: Stack, control: Client, tmp_path: Path) -> None:
    """Duplicates, delays, two splits and a merge; every line of the verdict holds as in our own engine."""
    control.reset()
    place = DemoTarget(
        AwsEndpoint(stack.said["aws"], stack.said["region"], stack.said["token"]),
        stack.said["control"],
        tmp_path,
        stack.said["token"],
    )
    result = demonstrate(PLAN, place, lambda _what, _share: None)
    assert result.verdict is Verdict.PASS, [line for line in result.lines if not line.holds]
