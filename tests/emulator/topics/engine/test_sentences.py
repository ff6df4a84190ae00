"""Every sentence of the two texts about publishing and content messages, shown by a case of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulator.topics.engine import cases_of_content, cases_of_publishing
from tests.emulator.topics.engine.cases import CASES, Case
from tests.emulator.topics.engine.conftest import World
from tests.emulator.topics.engine.sentences import SENTENCES, SILENT, TEXTS

REFERENCE = Path(__file__).parents[5] / "shared" / "reference"
SAYS = {sentence.name: sentence.says for sentence in SENTENCES}


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=f"{name}: {SAYS[name]} ({case.of})") for name, case in CASES],
)
def test_the_sentence_holds(name: str, case: Case, world: World) -> None:
    """What the sentence says is what a client sees."""
    case.shown(world)


def test_every_sentence_has_a_case() -> None:
    """No sentence of the list is only said, and no case is about none."""
    assert {name for name, _ in CASES} == set(SAYS)
    assert len(SAYS) == len(SENTENCES)
    assert cases_of_content.__doc__
    assert cases_of_publishing.__doc__


@pytest.mark.parametrize("text", TEXTS)
def test_every_line_of_the_text_is_in_the_list(text: str) -> None:
    """Each line that is not empty is a sentence's, or known to state nothing."""
    path = REFERENCE / TEXTS[text]
    if not path.exists():
        pytest.skip(f"{TEXTS[text]} is not beside this checkout")
    lines = path.read_text(encoding="utf-8").splitlines()
    written = {number for number, line in enumerate(lines, 1) if line.strip()}
    spoken = {line for sentence in SENTENCES if sentence.name[0] == text for line in sentence.lines}
    assert spoken | SILENT[text] == written
    assert not spoken & SILENT[text]
