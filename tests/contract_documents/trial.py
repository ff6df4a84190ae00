"""A document of other people's: it is checked, started by, and taken to a certificate of a plain client."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.clock import stopwatch
from tests.sandbox.certify.trials import CLIENTS

MOST_SECONDS: Final = 60.0
"""The longest that a document may take from its file to its certificate."""
_SEED: Final = 7
_GIVEN_UP_SECONDS: Final = 600
_VERSION: Final = re.compile(r"""^[{\s"']*asyncapi["']?:\s*["']?3\.""", re.MULTILINE)
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_ID: Final = '["messageHeader"]["messageId"]'


class Outcome(msgspec.Struct, frozen=True):
    """What came of a document; ``level`` is empty without a certificate, and ``reason`` says why then.

    ``seconds`` are those from the file to the certificate.
    """

    document: str
    messages: int = 0
    channel: str = ""
    seconds: float = 0.0
    level: str = ""
    reason: str = ""


def find_documents(folder: Path) -> Iterator[Path]:
    """The documents of AsyncAPI 3 in a folder and those below it."""
    for path in sorted(each for each in folder.rglob("*") if each.suffix in _SUFFIXES and each.is_file()):
        if _VERSION.search(path.read_text(encoding="utf-8", errors="replace")):
            yield path


def try_document(document: Path, name: str) -> Outcome:
    """Take a document to a certificate. What does not work is a reason, and no error."""
    began = stopwatch()
    checked = _run("contract", "check", str(document))
    if checked.returncode:
        problems = checked.stdout.splitlines() or checked.stderr.splitlines()[-1:]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Outcome(name, reason=f"{problems[0]}{more}")
    shown = json.loads(_run("contract", "show", "--json", str(document)).stdout)
    channel = (
        "rabbitmq" if any({"exchange", "queue"} & each.keys() for each in shown["channels"]) else "kinesis"
    )
    started = _run("run", "--contract", str(document), "--", sys.executable, "-c", "")
    if started.returncode:
        return Outcome(name, len(shown["messages"]), channel, reason=_read_last(started.stderr))
    ran = _certify(document, shown, channel)
    outcome = Outcome(name, len(shown["messages"]), channel, round(stopwatch() - began, 1))
    if not ran.stdout.startswith("{"):
        return msgspec.structs.replace(outcome, reason=_read_last(ran.stderr))
    certificate = json.loads(ran.stdout)
    wanted = [each for each in certificate["clauses"] if each["verdict"] in ("fail", "not exercised")]
    reason = "; ".join(f"{each['id']}: {each['verdict']}" for each in wanted)
    return msgspec.structs.replace(outcome, level=certificate["level"] or "none", reason=reason)


def _certify(document: Path, shown: dict[str, Any], channel: str) -> subprocess.CompletedProcess[str]:
    """Certify a plain client, which knows where the id of a message is, or else its bytes alone."""
    program = "right_consumer.py" if channel == "kinesis" else "right_queue_consumer.py"
    text = (CLIENTS / program).read_text(encoding="utf-8")
    data = 'record["Data"]' if channel == "kinesis" else "data"
    text = text.replace(f"json.loads({data}){_ID}", _write_id(shown["messages"], data, channel))
    text = text.replace(f"body_digest({data})", f"hashlib.sha256({data}).hexdigest()")
    text = text.replace("_properties, data", "properties, data")
    text = text.replace("process(data)", "process(data, properties)")
    text = text.replace("def process(data: bytes)", "def process(data: bytes, properties)")
    with tempfile.TemporaryDirectory() as folder:
        client = Path(folder, "client.py")
        client.write_text(text, encoding="utf-8")
        kit = ("certify", "consumer", "--channel", channel, "--seed", str(_SEED), "--no-shrink", "--json")
        return _run(*kit, "--", sys.executable, str(client), SANDBOX_CONTRACT=str(document))


def _write_id(messages: list[dict[str, Any]], data: str, channel: str) -> str:
    """The expression by which a client reads the id of a message, and finds that it is none."""
    places = [each["declares"]["identity"] or "" for each in messages]
    if all(place.startswith("$message.payload#/") for place in places) and _are_json(messages):
        return f"json.loads({data})" + "".join(f"[{step!r}]" for step in places[0].split("/")[1:])
    if channel == "rabbitmq" and all(place.startswith("$message.header#/") for place in places):
        name = places[0].rpartition("/")[2]
        known = f"getattr(properties, {name!r}, None) or properties.headers.get({name!r})"
        return f"(json.loads({data}), {known})[1]" if _are_json(messages) else known
    digest = f"hashlib.sha256({data}).hexdigest()"
    return f"(json.loads({data}), {digest})[1]" if _are_json(messages) else digest


def _are_json(messages: list[dict[str, Any]]) -> bool:
    return all("json" in each["contentType"] and "avro" not in each["judgedAs"] for each in messages)


def _run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:

    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            [sys.executable, "-m", "sandbox", *words],
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=_GIVEN_UP_SECONDS,
            check=False,
        )


def _read_last(text: str) -> str:
    return (text.strip().splitlines() or ["no word"])[-1]
