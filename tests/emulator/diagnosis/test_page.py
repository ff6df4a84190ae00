"""The registry of rules, and the page that is made from it."""

from __future__ import annotations

from pathlib import Path

from emulator.diagnosis.rules import RULES
from tests.docs.diagnose_page import renew
from tests.taken_out import needs


@needs("functions")
def test_the_page_is_up_to_date() -> None:
    """docs/diagnose.md has the rules as they are.

    python -m tests.docs.diagnose_page docs/diagnose.md renews it.
    """
    page = (Path(__file__).parents[3] / "docs" / "diagnose.md").read_text(encoding="utf-8")
    assert renew(page) == page


def test_each_rule_has_an_id_of_its_own_and_a_source() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert all(rule.sentence and rule.source and rule.advice and rule.sign for rule in RULES)
