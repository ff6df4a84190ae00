"""Unified diffs are applied as whoever made them meant."""

from __future__ import annotations

from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.learn.unified_diff import apply_diff

_LINES = st.lists(st.sampled_from(["", "a", "-a", "+b", "\\", "    @@ c", "  indented"]), max_size=20)


@given(_LINES, _LINES, st.integers(0, 4))
def test_what_difflib_finds_is_put_back(before: list[str], after: list[str], context: int) -> None:
    """With any number of lines around a change, also none, and wherever the changes are."""
    diff = list(unified_diff(before, after, "before", "after", lineterm="", n=context))
    if not diff:
        return
    changed = apply_diff("\n".join(diff), "\n".join([*before, ""]))
    assert changed == "\n".join([*after, ""] if after else ["", ""])


_DIFF = "diff -u a b\n--- a\n+++ b\n@@ -2,2 +2,2 @@\n \n-old\n+new\n\\ No newline at end of file\n"


def test_a_diff_of_another_program_is_taken_with_its_header_and_its_stripped_lines() -> None:
    """An editor that takes blanks off the ends of lines makes no diff useless."""
    for diff in (_DIFF, _DIFF.replace("\n \n", "\n\n")):
        assert apply_diff(diff, "first\n\nold\nlast\n") == "first\n\nnew\nlast\n"


@pytest.mark.parametrize(
    ("diff", "said"),
    [
        (_DIFF.replace("-old", "-older"), "line 6 does not fit what it changes: -older"),
        (_DIFF.replace("-2,2", "-9,2"), "line 4 stands at no line"),
        (_DIFF + "a line\n", "line 9 does not fit what it changes: a line"),
        ("--- a\n+++ b\n", "it changes nothing"),
    ],
)
def test_a_diff_that_does_not_fit_is_refused(diff: str, said: str) -> None:
    """With the line, for whoever wrote it: nothing is guessed."""
    with pytest.raises(ValueError, match=said):
        apply_diff(diff, "first\n\nold\nlast\n")
