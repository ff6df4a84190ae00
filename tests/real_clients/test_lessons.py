"""The lessons that have a client in JavaScript, with the AWS SDK for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.learn.lesson import Language, read_course
from sandbox.learn.proof import prove_lesson

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(300)]


def test_the_broken_clients_in_javascript_fail_and_their_solutions_pass(
    javascript: Path, tmp_path: Path
) -> None:
    """As the lessons say, with the SDK where `npm install --prefix learn` puts it."""
    (tmp_path / "learn").mkdir()
    (tmp_path / "learn" / "node_modules").symlink_to(javascript / "node_modules")
    lessons = [each for each in read_course() if Language.JAVASCRIPT in each.languages]
    assert lessons

    found = {each.name: prove_lesson(each, Language.JAVASCRIPT, tmp_path) for each in lessons}

    assert found == {each.name: [] for each in lessons}
