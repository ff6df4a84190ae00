"""The generated parts of docs/scenarios.md: ``python -m tests.docs.scenarios_page docs/scenarios.md``."""

from __future__ import annotations

from sandbox.scenarios.facts import CONTRACT, MEANINGS
from sandbox.scenarios.scenario import library
from sandbox.scenarios.scenario_text import describe_scenario
from tests.docs.page_parts import renew_file, renew_part


def renew(page: str) -> str:
    """Generate the text between the marks of the page again. Raises ValueError when a mark is missing."""
    facts = ["| fact | meaning |", "|---|---|"]
    for fact, meaning in MEANINGS.items():
        facts.append(f"| `{fact}` | {meaning}{'; 0 in every scenario' if fact in CONTRACT else ''} |")
    scenarios = "\n" + "\n".join(map(describe_scenario, library().values()))
    return renew_part(renew_part(page, "facts", "\n\n" + "\n".join([*facts, ""])), "scenarios", scenarios)


if __name__ == "__main__":
    renew_file(renew)
