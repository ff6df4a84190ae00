"""The words of the RDSS contract stay behind its seam: what still says them is on a list that shrinks."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("emulator", "extensions", "sandbox", "rdss_sandbox", "tui")
STRANGERS = "lessons"
"""The clients of lessons are those of others, who know the contract that they speak."""
WORDS = re.compile(r"GENERR|messageHeader|messageType|tenantJiscID")
LIST = Path(__file__).with_name("contract_words.txt")


def listed() -> list[str]:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if line and not line.startswith("#")]
    return [line for line in named if (ROOT / line).parent.exists()]  # an extension may have been taken out


def found() -> list[str]:
    sources = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    return [
        path.relative_to(ROOT).as_posix()
        for path in sources
        if STRANGERS not in path.parts and WORDS.search(path.read_text(encoding="utf-8"))
    ]


def test_no_other_file_says_the_words_of_one_contract() -> None:
    """Ask ``schemas.contract`` instead, or move what is of RDSS alone into ``schemas/rdss``."""
    assert sorted(set(found()) - set(listed())) == []


def test_the_list_names_only_files_that_need_it() -> None:
    """A file that says none of the words any more, or is gone, leaves the list; nothing is on it twice."""
    assert sorted(set(listed()) - set(found())) == []
    assert len(listed()) == len(set(listed()))
