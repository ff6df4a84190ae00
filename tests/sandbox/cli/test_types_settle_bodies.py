"""A body that is not of its messageType's form is refused alike wherever messages are judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.clock import Clock
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples

Ask = Callable[..., Any]
Judged = Callable[[Ask, bytes], str | None]

BODIES = {
    "a create of nothing but a UUID": ("MetadataCreate", None),
    "an update of nothing but a UUID": ("MetadataUpdate", None),
    "a delete with a dataset": ("MetadataDelete", "dataset"),
    "a preservation event with a dataset": ("PreservationEvent", "dataset"),
}
HEADERS: dict[str, dict[str, Any]] = {
    "a position of 0": {"position": 0},
    "a position below 0": {"position": -1},
    "a position behind the total": {"position": 2},
    "a total of 0": {"position": 0, "total": 0},
    "an errorCode that is none": {"errorCode": "GENERR011"},
}


def of(message_type: str, kind: str | None) -> bytes:
    message = Samples(5, now=Clock().time()).message("MetadataCreate", "dataset")
    body = message["messageBody"] if kind else {"objectUUID": message["messageBody"]["objectUUID"]}
    message["messageHeader"]["messageType"] = message_type
    return serialise({**message, "messageBody": body})


def with_header(change: dict[str, Any]) -> bytes:
    message = Samples(5, now=Clock().time()).message("MetadataCreate", "dataset")
    header = message["messageHeader"]
    for name, value in change.items():
        (header["messageSequence"] if name in ("position", "total") else header)[name] = value
    return serialise(message)


def by_validate(ask: Ask, *options: str) -> str | None:
    ran = ask.sandbox("message", "validate", "one.json", "--json", *options)  # type: ignore[attr-defined]
    code: str | None = json.loads(ran.out)["code"]
    assert ran.code == (code is not None)
    return code


def by_command(*command: str) -> Callable[..., str | None]:
    def judged(ask: Ask, *options: str) -> str | None:
        assert ask("send", "one.json").code == 0
        ran = ask(*command, *options)
        assert ran.code == 0
        set_aside = ask("receive", "--channel", "invalid", "--json").out.splitlines()
        assert ask("receive", "--channel", "error", "--json").out == ""
        assert len(set_aside) + bool(ran.out) == 1
        assert (": 1 rejected: 1 in invalid" in ran.err) == bool(set_aside)
        return json.loads(set_aside[0])["messageHeader"]["errorCode"] if set_aside else None

    return judged


def by_pipeline(_ask: Ask, *options: str) -> str | None:
    import pyarrow as pa

    from sandbox.pipeline.stages.parsing import build_judge

    batch = pa.RecordBatch.from_pylist(
        [
            {
                "data": Path("one.json").read_bytes(),
                "partitionKey": "k",
                "streamName": "input",
                "shardId": "shardId-0",
                "sequenceNumber": "1",
                "approximateArrivalTimestamp": Clock().now(),
            }
        ]
    )
    from schemas.bound import choose_contract

    judge = build_judge(("error", "invalid"), choose_contract(as_published=bool(options)))
    (rows,) = judge(iter([batch]))
    code: str | None = rows.column("code").to_pylist()[0]
    return code


JUDGES: dict[str, Callable[..., str | None]] = {
    "validate": by_validate,
    "receive": by_command("receive"),
    "repository": by_command("application", "run", "repository", "--once"),
    "preservation": by_command("application", "run", "preservation", "--once"),
    "later": by_command("application", "run", "preservation", "--once", "--asynchronous"),
    "pipeline": by_pipeline,
}


@pytest.fixture
def asked(ask: Ask, sandbox: Ask) -> Ask:
    def run(*arguments: str) -> Any:
        return ask(*arguments)

    run.sandbox = sandbox  # type: ignore[attr-defined]
    return run


@pytest.mark.parametrize(
    "judge",
    [
        "validate",
        "receive",
        "pipeline",
        *(pytest.param(judge, marks=pytest.mark.slow) for judge in ("repository", "later", "preservation")),
    ],
)
@pytest.mark.parametrize("body", BODIES)
def test_the_type_settles_the_body(asked: Ask, judge: str, body: str) -> None:
    """GENERR001 and the invalid queue, where the published files take any message's body for any type."""
    Path("one.json").write_bytes(of(*BODIES[body]))
    assert JUDGES[judge](asked) == "GENERR001"


@pytest.mark.parametrize("judge", ["validate", pytest.param("receive", marks=pytest.mark.slow), "pipeline"])
@pytest.mark.parametrize("header", HEADERS)
def test_a_header_is_held_to_the_text(asked: Ask, judge: str, header: str) -> None:
    """GENERR004: a place within the total, and one of the table's error codes."""
    Path("one.json").write_bytes(with_header(HEADERS[header]))
    assert JUDGES[judge](asked) == "GENERR004"


@pytest.mark.parametrize(
    "judge", ["validate", "receive", pytest.param("repository", marks=pytest.mark.slow), "pipeline"]
)
def test_as_published_the_schema_files_decide(asked: Ask, judge: str) -> None:
    """By the option, where messages are judged."""
    Path("one.json").write_bytes(of("MetadataCreate", None))
    assert JUDGES[judge](asked, "--as-published") is None


@pytest.mark.parametrize("setting", ["environment", "file"])
def test_as_published_is_a_setting_too(
    asked: Ask, setting: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of the environment, or of sandbox.toml, for every command of the folder."""
    Path("one.json").write_bytes(of("MetadataDelete", "dataset"))
    if setting == "environment":
        monkeypatch.setenv("SANDBOX_AS_PUBLISHED", "true")
    else:
        (tmp_path / "sandbox.toml").write_text("[sandbox]\nas_published = true\n")
    assert JUDGES["validate"](asked) is None
    assert JUDGES["receive"](asked) is None


def test_strict_is_gone_and_says_what_to_do(sandbox: Ask) -> None:
    """Whoever has it in a script is told what became of it."""
    ran = sandbox("message", "validate", "one.json", "--strict")
    assert ran.code == 2
    assert "--as-published" in ran.err
    assert len(ran.err.splitlines()) == 1
