"""Judging messages and making samples of them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded
from emulator.clock import Clock
from schemas.message_timestamps import instant
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from schemas.rdss.validation import PRECEDENCE, judge

Sandbox = Callable[..., Any]
PUBLISHED = Path(__file__).parents[4] / "shared" / "reference" / "rdss-4.0.0" / "messages"
OF_AN_OLDER_VERSION = "research_object_update_request.json"


@pytest.fixture
def piped(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """Runs a command with bytes on standard input."""

    def run(stdin: bytes, *arguments: str) -> Any:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return sandbox(*arguments)

    return run


def test_samples_are_valid_messages_one_a_line(sandbox: Sandbox, piped: Sandbox) -> None:
    """What sample makes, validate accepts."""
    samples = sandbox("message", "sample", "--count", "60", "--seed", "7").out
    assert len(samples.splitlines()) == 60

    ran = piped(samples.encode(), "message", "validate", "-", "--json")
    verdicts = [json.loads(line) for line in ran.out.splitlines()]
    assert verdicts == [{"valid": True, "code": None, "violations": []}] * 60
    assert (ran.code, ran.err) == (0, "")


def test_the_same_seed_and_time_make_the_same_samples(sandbox: Sandbox) -> None:
    """Byte for byte; another seed, time or none makes others."""
    command = ("message", "sample", "--count", "5", "--at", "2026-01-31T12:00:00Z")
    first = sandbox(*command, "--seed", "7").out

    assert sandbox(*command, "--seed", "7").out == first
    assert sandbox(*command, "--seed", "8").out != first
    assert sandbox(*command).out != first
    assert sandbox("message", "sample", "--count", "5", "--seed", "7").out != first
    assert json.loads(first.splitlines()[0])["messageHeader"]["messageTimings"]["publishedTimestamp"] == (
        "2026-01-31T12:00:00.000Z"
    )


def test_samples_are_dated_now_with_and_without_a_seed(sandbox: Sandbox) -> None:
    """By the machine's clock where no sandbox runs; the seed still settles all that is no date."""
    ids = []
    for seed in (["--seed", "7"], ["--seed", "7"], []):
        before = Clock().time()
        header = json.loads(sandbox("message", "sample", *seed).out)["messageHeader"]
        published = instant(header["messageTimings"]["publishedTimestamp"])
        assert published is not None
        assert before - 1 <= published <= Clock().time() + 1
        ids.append(header["messageId"])
    assert ids[0] == ids[1] != ids[2]


def test_samples_follow_the_clock_of_the_sandbox_that_is_pointed_at(
    ask: Sandbox, emulator: Embedded, sandbox: Sandbox, tmp_path: Path
) -> None:
    """A sandbox that is a year ahead gets messages that are not late there, for none of their dates."""
    emulator.components.clock.advance(365 * 86_400)
    made = ask("message", "sample", "--count", "20", "--seed", "7").out
    (tmp_path / "made.ndjson").write_text(made)

    assert ask("send", str(tmp_path / "made.ndjson")).code == 0

    rows = [json.loads(line) for line in ask("messages", "--json").out.splitlines()]
    assert [row["marks"] for row in rows] == [[]] * 20


def test_a_time_that_is_none_is_refused(sandbox: Sandbox) -> None:
    """With its value, and what one looks like."""
    for wrong in ("yesterday", "2026-13-31", "9999-01-01T00:00:00Z"):
        ran = sandbox("message", "sample", "--at", wrong)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_samples_of_a_kind(sandbox: Sandbox) -> None:
    """A type, a resource type, a size."""
    ran = sandbox(
        "message", "sample", "--type", "MetadataUpdate", "--resource-type", "dataset", "--count", "2"
    )
    for line in ran.out.splitlines():
        message = json.loads(line)
        assert message["messageHeader"]["messageType"] == "MetadataUpdate"
        assert message["messageBody"]["objectResourceType"] == "dataset"
    assert len(sandbox("message", "sample", "--parts", "2").out) > 1_000_000


@pytest.mark.parametrize("code", PRECEDENCE)
def test_bad_samples_deserve_their_code(sandbox: Sandbox, piped: Sandbox, code: ErrorCode) -> None:
    """For each code that a message alone can cause; an expiry only counts when it is asked for."""
    bad = sandbox("message", "sample", "--bad", code.lower(), "--seed", "3").out.encode(
        "utf-8", "surrogateescape"
    )

    ran = piped(bad, "message", "validate", "--expired", "--json")
    assert ran.code == 1
    verdict = json.loads(ran.out)
    assert (verdict["valid"], verdict["code"]) == (False, code)
    assert set(verdict["violations"][0]) == {"path", "rule", "message"}


@pytest.mark.parametrize(
    "arguments",
    [["--type", "Letter"], ["--bad", "GENERR006"], ["--bad", "ODD"], ["--resource-type", "stone"]],
)
def test_samples_that_cannot_be_made(sandbox: Sandbox, arguments: list[str]) -> None:
    """One line that lists what there is, exit code 2."""
    ran = sandbox("message", "sample", *arguments)

    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_lines_are_judged_one_by_one(piped: Sandbox) -> None:
    """A bad line among good ones does not spoil them; empty lines do not count."""
    good = json.dumps(Samples(1).message())
    lines = f"{good}\n\nnot json\n{{}}\n{good}\n"

    ran = piped(lines.encode(), "message", "validate", "-", "--json")
    assert [json.loads(line)["code"] for line in ran.out.splitlines()] == [
        None,
        "GENERR007",
        "GENERR004",
        None,
    ]
    assert ran.code == 1


def test_for_people_a_verdict_names_the_place(sandbox: Sandbox, tmp_path: Path) -> None:
    """File and line, the code, the field and the rule."""
    message = Samples(1).message()
    message["messageHeader"]["messageId"] = "no uuid"
    path = tmp_path / "two.ndjson"
    path.write_text(f"{json.dumps(Samples(1).message())}\n{json.dumps(message)}\n")

    ran = sandbox("message", "validate", str(path))
    assert ran.out.splitlines()[0].split() == ["valid", f"{path}:1"]
    assert ran.out.splitlines()[1].split() == ["GENERR010", f"{path}:2"]
    assert '/messageHeader/messageId: "no uuid" is not a UUID' in ran.out
    assert "2 judged, 1 refused" in ran.err


def test_a_file_that_cannot_be_read_does_not_stop_the_others(sandbox: Sandbox, tmp_path: Path) -> None:
    """It is named on standard error, the rest is judged, the exit code is 2."""
    good = tmp_path / "good.json"
    good.write_text(json.dumps(Samples(1).message(), indent=2))

    ran = sandbox("message", "validate", str(tmp_path / "nowhere.json"), str(tmp_path), str(good), "--json")
    assert ran.code == 2
    assert [json.loads(line)["valid"] for line in ran.out.splitlines()] == [True]
    assert "nowhere.json cannot be read: No such file" in ran.err


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published messages are not beside the repository")
def test_published_files_are_judged_as_what_they_are(sandbox: Sandbox) -> None:
    """Whole messages, headers and bodies as they are published: all valid but the one body of version 3."""
    files = sorted(PUBLISHED.rglob("*.json"))

    for path in files:
        ran = sandbox("message", "validate", str(path), "--json")
        verdict = json.loads(ran.out)
        assert verdict["valid"] == (path.name != OF_AN_OLDER_VERSION), (path, verdict)
    assert len(files) == 17


def test_json_output_agrees_with_the_contract(sandbox: Sandbox, tmp_path: Path) -> None:
    """The command's verdict on a whole message is that of schemas.rdss.validation."""
    samples = Samples(5)
    for number, code in enumerate(PRECEDENCE):
        raw = samples.bad(code)
        path = tmp_path / f"{number}.json"
        path.write_bytes(raw)
        found = json.loads(sandbox("message", "validate", str(path), "--json").out)
        expected = judge(raw)
        assert (found["valid"], found["code"]) == (expected.valid, expected.code)
        assert [v["path"] for v in found["violations"]] == [v.path for v in expected.violations]
