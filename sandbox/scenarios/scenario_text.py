"""A scenario in Markdown: what happens, why, and what a correct client does."""

from __future__ import annotations

import msgspec

from sandbox.scenarios.scenario import Scenario


def describe_scenario(scenario: Scenario) -> str:
    """A scenario as a section of Markdown."""
    teach = scenario.teach
    lines = [
        f"## {scenario.name}",
        "",
        f"**{scenario.title}**",
        "",
        teach.happens,
        "",
        f"*Why.* {teach.why}",
        "",
        f"*A correct client.* {teach.client}",
        "",
    ]
    if scenario.faults:
        lines += [*(_fault(msgspec.to_builtins(fault)) for fault in scenario.faults), ""]
    if scenario.failures:
        lines += [f"- failures: {', '.join(f'`{each}`' for each in scenario.failures)}", ""]
    expected = ", ".join(f"`{fact}` {_condition(written)}" for fact, written in scenario.expect.items())
    return "\n".join([*lines, f"Expected besides the contract: {expected}.", ""])


def _fault(fault: dict[str, object]) -> str:
    """The fault in one line of Markdown."""
    rest = {name: value for name, value in fault.items() if name not in {"type", "name"}}
    more = ", ".join(f"{name} {_written(value)}" for name, value in rest.items())
    return f"- fault `{fault.get('name', fault['type'])}`: {fault['type']}{f', {more}' if more else ''}"


def _written(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_written(inner)}" for name, inner in value.items()) + "}"
    return str(value)


def _condition(written: float | str) -> str:
    return f"`{written}`" if isinstance(written, str) else f"`== {written:g}`"
