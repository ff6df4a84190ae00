"""Templates with anything anywhere: a refusal or a failed stack, never an error of ours and nothing left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from emulator.rng import Chance, Draws
from extensions.functions.stacks.stack_template import read_template
from tests.extensions.functions.conftest import Aws
from tests.extensions.functions.stacks.deployed_stack import PERMITTED, TEMPLATE, DeployedStack

JUNK: list[Any] = [
    None, True, 0, -1, 1.5, "", "x", "${A.B}", "${", "9" * 30, [], {}, [1], {"Ref": "Role"}, {"Ref": ["a"]},
    {"Fn::GetAtt": []}, {"Fn::GetAtt": "x"}, {"Fn::Sub": []}, {"Fn::Sub": ["${a}", 5]}, {"Fn::If": ["Never"]},
    {"Fn::If": {}}, {"Fn::FindInMap": [1]}, {"Condition": {}}, {"Fn::Select": [{}, []]}, {"Fn::Nope": 1},
]  # fmt: skip
LAST = {"CREATE_COMPLETE", "ROLLBACK_COMPLETE"}


def list_paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, each in entries:
        yield (*above, key)
        yield from list_paths(each, (*above, key))


def mangle(draws: Draws) -> str:
    template = deepcopy(read_template(TEMPLATE))
    for _ in range(draws.randint(1, 3)):
        *above, last = draws.choice(list(list_paths(template)))
        place = template
        for key in above:
            place = place[key]
        place[last] = deepcopy(draws.choice(JUNK))
    return json.dumps(template)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))])
def test_a_mangled_template_harms_nothing(aws: Aws, seed: int) -> None:
    """What it makes goes with it, whatever it says."""
    draws = Chance(seed).draws("templates")
    for number in range(40):
        stack = DeployedStack(aws, f"mangled-{seed}-{number}")
        template = mangle(draws)
        given = {"StackName": stack.name, "TemplateBody": template, **PERMITTED}
        code, _ = stack.refusal("create_stack", **given)
        assert code != "InternalFailure", template
        if not code:
            assert stack.settle()["StackStatus"] in LAST, template
            assert stack.delete()["StackStatus"] == "DELETE_COMPLETE", template
    assert aws.lambda_.list_functions()["Functions"] == []
    assert aws.lambda_.list_event_source_mappings()["EventSourceMappings"] == []
    assert "QueueUrls" not in aws.client("sqs").list_queues()
