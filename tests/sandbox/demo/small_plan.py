"""The plan of the demonstration, made small."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from rdss_sandbox.shapes.faults import NewFault
from sandbox.demo.demonstration import Plan, make_plan
from sandbox.scenarios.scenario import Scenario


def shrink_plan(
    seed: int,
    *,
    messages: int,
    sequences: int,
    bad: int,
    oversize: int,
    duplicates: float,
    failures: tuple[str, ...] | None = None,
    delay: int = 5,
) -> Plan:
    """The plan with so many messages and sequences; of bad messages and of those that grow a queue has one.

    ``bad`` is the number for each error code, ``duplicates`` the share that is put or delivered twice, and
    ``delay`` that of the answers in milliseconds. ``failures`` are those of the plan by default.
    """
    whole = make_plan(seed)

    def fault(each: NewFault, grown: int) -> NewFault:
        changes: dict[str, Any] = {
            "duplicate": {"toxicity": duplicates},
            "latency": {"attributes": each.attributes | {"delay": delay / 1000, "jitter": 0.001}},
            "oversize": {"when": each.when | {"first": grown}},
        }.get(each.type, {})
        return replace(each, **changes)

    def shrink(scenario: Scenario, most: int) -> Scenario:
        grown = min(oversize, most)
        return replace(
            scenario,
            workload=replace(
                scenario.workload,
                messages=messages + grown,
                sequences=min(sequences, most),
                bad=dict.fromkeys(scenario.workload.bad, min(bad, most)),
                batch=max(1, min(20, messages // 10)),
            ),
            faults=tuple(fault(each, grown) for each in scenario.faults if grown or each.type != "oversize"),
            failures=scenario.failures if failures is None else failures,
        )

    return Plan(seed, shrink(whole.stream, max(sequences, bad, oversize)), shrink(whole.queue, 1))
