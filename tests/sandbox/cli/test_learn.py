"""``sandbox learn``: lessons are started, checked and reset, and how far one is stays."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.learn.lesson import Language, read_course
from tests.sandbox.cli.conftest import Ran

FIRST = read_course()[0]
CLIENT = Path("learn", FIRST.name, "client.py")
Sandbox = Callable[..., Ran]


def rows(sandbox: Sandbox) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(sandbox("learn", "list", "--json").out)
    return found


def test_the_list_has_every_lesson(sandbox: Sandbox) -> None:
    """With its title, and nothing done yet."""
    shown = sandbox("learn", "list")

    assert shown.code == 0
    for lesson in read_course():
        assert lesson.title in shown.out
    assert {each["state"] for each in rows(sandbox)} == {"-"}


def test_a_start_shows_the_text_and_gives_the_client(sandbox: Sandbox) -> None:
    """The broken client lies where one can edit it; the hints and the reason are not told yet."""
    ran = sandbox("learn", "start")

    assert ran.code == 0
    assert FIRST.title in ran.out
    assert str(CLIENT) in ran.out
    assert CLIENT.read_bytes() == (FIRST.folder / "client.py").read_bytes()
    assert "Hint" not in ran.out
    assert "Why" not in ran.out
    assert rows(sandbox)[0]["state"] == "started"


def test_a_second_start_leaves_the_learners_work(sandbox: Sandbox) -> None:
    """What was edited stays, also where the text is only to be read once more."""
    sandbox("learn", "start", "1")
    CLIENT.write_text("# mine\n", encoding="utf-8")

    ran = sandbox("learn", "start", "1")

    assert "as you left it" in ran.out
    assert CLIENT.read_text(encoding="utf-8") == "# mine\n"


def test_hints_come_one_at_a_time(sandbox: Sandbox) -> None:
    """And after the third the solution is offered."""
    sandbox("learn", "start", "1")

    counts = [json.loads(sandbox("learn", "hint", "--json").out) for _ in range(4)]

    assert [len(each["hints"]) for each in counts] == [1, 2, 3, 3]
    assert counts[0]["hints"][0] == FIRST.hints[0]
    assert "sandbox learn solution" in sandbox("learn", "hint").out
    assert rows(sandbox)[0]["hints"] == 3


def test_the_solution_lies_beside_the_learners_client(sandbox: Sandbox) -> None:
    """It is shown as changed lines, the learner's own file stays, and the list tells that it was seen."""
    sandbox("learn", "start", "1")

    ran = sandbox("learn", "solution")

    assert "+    answer = kinesis.get_shard_iterator(StreamName=STREAM, ShardId=shard, Shard" in ran.out
    assert CLIENT.with_name("solution.py").read_text(encoding="utf-8") == FIRST.solve(Language.PYTHON)
    assert "broken on purpose" in CLIENT.read_text(encoding="utf-8")
    assert rows(sandbox)[0]["state"] == "started, solution seen"


def test_a_reset_keeps_what_the_learner_wrote(sandbox: Sandbox) -> None:
    """Beside the broken client, each time under a name of its own; the lesson begins again."""
    sandbox("learn", "start", "1")
    sandbox("learn", "hint")
    for text in ("# first\n", "# second\n"):
        CLIENT.write_text(text, encoding="utf-8")
        assert sandbox("learn", "reset").code == 0

    kept = [CLIENT.with_name(f"client.{number}.py").read_text(encoding="utf-8") for number in (1, 2)]
    assert kept == ["# first\n", "# second\n"]
    assert "broken on purpose" in CLIENT.read_text(encoding="utf-8")
    assert rows(sandbox)[0]["hints"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check"], "sandbox learn start 1"),
        (["hint", "1"], "sandbox learn start 1"),
        (["start", "99"], "no lesson '99'"),
        (["start", "1", "--language", "cobol"], "cobol"),
        (["--lessons", "nowhere", "list"], "nowhere"),
    ],
)
def test_a_mistake_says_what_to_do(sandbox: Sandbox, arguments: list[str], said: str) -> None:
    """One line, exit code 2."""
    ran = sandbox("learn", *arguments)

    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err


def test_a_client_that_is_gone_can_be_put_back(sandbox: Sandbox) -> None:
    """The message says how, and that is so."""
    sandbox("learn", "start", "1")
    CLIENT.unlink()

    ran = sandbox("learn", "check")

    assert (ran.code, "sandbox learn reset 1" in ran.err) == (2, True)
    assert sandbox("learn", "reset", "1").code == 0
    assert CLIENT.exists()


def test_damaged_progress_is_named_and_not_overwritten(sandbox: Sandbox) -> None:
    """The file is the learner's."""
    file = Path(".sandbox/learn.json")
    file.parent.mkdir()
    file.write_text("{", encoding="utf-8")

    ran = sandbox("learn", "start", "1")

    assert ran.code == 3
    assert str(file) in ran.err
    assert file.read_text(encoding="utf-8") == "{"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_lesson_from_its_broken_client_to_the_next_lesson(sandbox: Sandbox) -> None:
    """The loss is counted and found; with the repair the check passes, and the list says so."""
    sandbox("learn", "start", "1")

    broken = sandbox("learn", "check")

    assert broken.code == 1
    quiet, restart = [
        line.split() for line in broken.out.splitlines() if line.startswith(("quiet", "restart"))
    ]
    assert quiet[1:5] == ["10", "10", "0", "0"]
    assert int(restart[3]) > 0
    assert "was never read" in broken.out
    assert "sandbox learn hint" in broken.out
    assert FIRST.front.elsewhere[0].url not in broken.out

    sandbox("learn", "solution")
    CLIENT.with_name("solution.py").replace(CLIENT)
    passed = sandbox("learn", "check", "--json")
    result = json.loads(passed.out)

    assert (passed.code, result["passed"]) == (0, True)
    assert [each["lost"] for each in result["stages"]] == [0, 0]
    assert rows(sandbox)[0]["state"] == "passed, solution seen"
    assert rows(sandbox)[0]["checks"] == 2


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nothing_passes_because_code_was_deleted(sandbox: Sandbox) -> None:
    """A client that no longer does anything which could go wrong does not do its work either."""
    sandbox("learn", "start", "1")
    CLIENT.write_text("", encoding="utf-8")

    ran = sandbox("learn", "check", "--json")

    assert (ran.code, json.loads(ran.out)["passed"]) == (1, False)


def test_lessons_of_ones_own_are_taken_by_the_same_commands(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder for each, beside the course; their progress does not mix."""
    shutil.copytree(FIRST.folder, tmp_path / "mine" / "41-our-day")

    assert sandbox("learn", "--lessons", "mine", "start", "41").code == 0
    assert Path("learn/41-our-day/client.py").exists()
    assert rows(sandbox)[0]["state"] == "-"

    monkeypatch.setenv("SANDBOX_LESSONS", "mine")
    assert [(each["lesson"], each["state"]) for each in rows(sandbox)] == [(41, "started")]
    assert sandbox("learn", "hint").code == 0


def test_a_client_in_javascript_needs_node_and_the_sdk(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is placed with what npm needs; what is missing is said before anything runs."""
    ran = sandbox("learn", "start", "1", "--language", "javascript")
    assert "npm install --prefix learn" in ran.out
    assert "broken on purpose" in CLIENT.with_suffix(".js").read_text(encoding="utf-8")
    package = json.loads(Path("learn/package.json").read_text(encoding="utf-8"))
    assert (package["type"], list(package["dependencies"])) == ("module", ["@aws-sdk/client-kinesis"])

    without_node = sandbox("learn", "check")
    assert (without_node.code, "Node.js" in without_node.err) == (3, True)

    node = tmp_path / "bin" / "node"
    node.parent.mkdir()
    node.write_text("#!/bin/sh\n", encoding="utf-8")
    node.chmod(0o755)
    monkeypatch.setenv("PATH", str(node.parent))
    without_sdk = sandbox("learn", "check")
    assert (without_sdk.code, "npm install --prefix learn" in without_sdk.err) == (3, True)


def test_a_language_that_a_lesson_does_not_have_is_refused(sandbox: Sandbox) -> None:
    """The message says which it has; nothing is started."""
    lesson = next(each for each in read_course() if len(each.languages) == 1)

    ran = sandbox("learn", "start", str(lesson.number), "--language", "javascript")

    assert (ran.code, "it has python" in ran.err) == (2, True)
    assert not Path("learn").exists()


def test_the_page_for_a_browser_follows_each_command(sandbox: Sandbox) -> None:
    """It has the lesson from its start on, and a hint when that was asked for."""
    page = Path("learn/index.html")
    assert str(page) in sandbox("learn", "start", "1").out
    before = page.read_text(encoding="utf-8")

    sandbox("learn", "hint")

    assert FIRST.title in before
    assert "Hint 1" not in before
    assert "Hint 1" in page.read_text(encoding="utf-8")
