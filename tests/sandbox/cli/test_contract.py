"""Checking, showing and exporting contracts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from schemas.asyncapi.load import load_contract

Sandbox = Callable[..., Any]
SHAPES = Path(__file__).parents[2] / "schemas" / "asyncapi" / "shapes"


def test_a_good_document_is_said_to_be_one(sandbox: Sandbox) -> None:
    """What it holds is counted, so that an empty one is noticed."""
    ran = sandbox("contract", "check", str(SHAPES / "everything.yaml"))
    assert (ran.code, ran.out) == (0, "")
    assert "Records of a lab 2.1.0, channels: 3, messages: 2" in ran.err


def test_all_problems_have_a_pointer(sandbox: Sandbox, tmp_path: Path) -> None:
    """One a line, for people and for programs, and the exit code says that there are some."""
    text = (SHAPES / "everything.yaml").read_text().replace("shards: 2", "shards: 0").replace("info:", "inf:")
    (tmp_path / "bad.yaml").write_text(text)
    ran = sandbox("contract", "check", "bad.yaml")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "#/inf: is not a field of this object; did you mean info?",
        "info is required and missing",
        "#/channels/records/bindings/x-kinesis/shards: this must be from 1 to 10,000",
    ]
    lines = sandbox("contract", "check", "bad.yaml", "--json").out.splitlines()
    assert [json.loads(line)["pointer"] for line in lines] == [
        "/inf",
        "",
        "/channels/records/bindings/x-kinesis/shards",
    ]


def test_what_was_understood_is_shown(sandbox: Sandbox) -> None:
    """Channels, messages, where their fields are, and the codes that the document names."""
    ran = sandbox("contract", "show", str(SHAPES / "everything.yaml"))
    assert ran.code == 0
    for said in ("shards 2, ON_DEMAND, records to 2048 KiB", "identity $message.payload#/meta/id", "E-LATE"):
        assert said in ran.out
    shown = json.loads(sandbox("contract", "show", str(SHAPES / "everything.yaml"), "--json").out)
    assert (shown["toldApartBy"], shown["maxBytes"]) == ("$message.payload#/meta/kind", 65_536)
    assert shown["notDeclared"] == []


def test_what_is_not_declared_is_said_not_to_be_offered(sandbox: Sandbox) -> None:
    """With what to declare for it."""
    ran = sandbox("contract", "show", str(SHAPES / "calls.yaml"))
    for name in ("x-sandbox.id", "x-sandbox.expires", "x-sandbox.reject", "x-sandbox.orderKey"):
        assert name in ran.out


def test_a_bad_document_is_not_shown(sandbox: Sandbox, tmp_path: Path) -> None:
    """Who asks is told what is wrong first, and the command that says the rest."""
    (tmp_path / "old.yaml").write_text("asyncapi: 2.6.0\n")
    ran = sandbox("contract", "show", "old.yaml")
    assert ran.code == 1
    assert "asyncapi convert" in ran.err
    assert "sandbox contract check old.yaml" in ran.err


def test_rdss_is_exported_as_a_document(sandbox: Sandbox, tmp_path: Path) -> None:
    """In YAML and in JSON it is the same one, and a contract can be made of it."""
    text = sandbox("contract", "export").out
    (tmp_path / "rdss.yaml").write_text(text)
    assert yaml.safe_load(text) == json.loads(sandbox("contract", "export", "--json").out)
    assert load_contract(tmp_path / "rdss.yaml").kinds[0] == "MetadataCreate"
