"""The description of asynchronous messages, held to whole."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.sandbox.processing.sentences import ATTRIBUTE, SENTENCES


def test_every_sentence_of_the_description_has_a_test() -> None:
    """None of what the text promises goes unshown."""
    shown: set[str] = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        module = import_module(f"tests.sandbox.processing.{path.stem}")
        for name, test in vars(module).items():
            if name.startswith("test_"):
                shown.update(getattr(test, ATTRIBUTE, ()))
    assert set(SENTENCES) - shown == set()
