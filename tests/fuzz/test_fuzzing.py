"""No input gives a traceback, takes half a second, or has the process grow by 50 MiB, whatever its bytes are.

``tests/fuzz/README.md`` says what is fuzzed, and what was found.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from emulator.rng import Draws
from tests.fuzz.changed_inputs import change
from tests.fuzz.fuzzed_parser import CORPUS, NAMES, BoundedParse, TooSlowError, list_corpus, load_parser
from tests.fuzz.results_page import PAGE


def _run(*given: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.fuzz", *given]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=1000)


def test_the_corpus_is_parsed_within_the_bounds() -> None:
    """All that was made for the parsers, and every input that once was a fault: the names of those say so.

    In a process of its own, since the ports have a loop each, and let nothing be called.
    """
    ran = _run("--again", str(CORPUS))
    assert ran.returncode == 0, ran.stderr[-4000:]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_ten_seconds_find_nothing(name: str) -> None:
    """The same inputs each time: what chance finds is looked for by the long run, and stops nobody here."""
    ran = _run(name, "--seconds", "10", "--seed", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr[-4000:]


@pytest.mark.long
@pytest.mark.timeout(1100)
@pytest.mark.parametrize("name", NAMES)
def test_ten_minutes_find_nothing(name: str) -> None:
    ran = _run(name, "--seconds", "600")
    assert ran.returncode == 0, ran.stdout + ran.stderr[-4000:]


def test_a_fault_is_told_with_its_input() -> None:
    """What a parser raises, and what takes too long, is a fault: the harness lets neither pass."""

    def raises(data: bytes) -> None:
        if data == b"bad":
            raise KeyError(data)

    parse = BoundedParse(raises)
    parse(b"good")
    with pytest.raises(KeyError):
        parse(b"bad")
    with pytest.raises(TooSlowError):
        BoundedParse(lambda _: sum(range(80_000_000)))(b"slow")


def test_every_parser_has_a_small_corpus_and_a_row_in_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert {path.name for path in CORPUS.iterdir()} == set(NAMES)
    for name in NAMES:
        assert 1 < len(list_corpus(name)) < 60
        assert all(path.stat().st_size <= 8192 for path in list_corpus(name))
        assert f"| `{name}` |" in page
        assert load_parser(name).of in page


def test_chance_changes_an_input_the_same_way_each_time() -> None:
    """Where atheris is not to be had, a run can be repeated all the same."""

    def changed() -> list[bytes]:
        chance = Draws(7)
        return [change(b"abcdefgh", [b"other"], chance) for _ in range(50)]

    assert changed() == changed()
    assert len(set(changed())) > 40
