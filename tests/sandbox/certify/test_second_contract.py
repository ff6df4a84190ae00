"""The delivery group judges clients of another contract: messages that do not say their own names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from sandbox.certify.clause import Group, Role
from sandbox.certify.trial import Trial, certify
from tests.parcels import PARCELS
from tests.sandbox.certify.population.kind import CLIENTS, build_trial
from tests.sandbox.certify.population.population import SHAPES, WRONG, WrongClient
from tests.sandbox.certify.trials import judge_all, play_stages
from tests.schemas.asyncapi.documents import FOLDER

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

_OF_PARCELS: Final = (
    ('json.loads(record["Data"])["messageHeader"]["messageId"]', 'record["PartitionKey"]'),
    ('body_digest(record["Data"])', 'hashlib.sha256(record["Data"]).hexdigest()'),
    (
        '[(json.loads(line)["messageHeader"]["messageId"], line) for line in lines]',
        'list(zip(Path(os.environ["SANDBOX_MESSAGE_KEYS"]).read_text().split(), lines))',
    ),
)
"""What a client of RDSS reads in its message, and where a client of parcels finds it."""
_ROLES: Final = {Role.CONSUMER: CLIENTS / "right_consumer.py", Role.PRODUCER: CLIENTS / "right_producer.py"}
_WRONG: Final = [each for each in WRONG if each.shape.program in _ROLES.values() and not each.kind.groups]


_IN_BASE64: Final = (
    'Path(os.environ["SANDBOX_MESSAGES"]).read_bytes().splitlines()',
    '[base64.b64decode(json.loads(line)["rawBase64"]) for line in open(os.environ["SANDBOX_MESSAGES"])]',
)


def _trial(role: Role, text: str, folder: Path) -> Trial:
    """A trial over parcels of a client that was written for RDSS."""
    for old, new in _OF_PARCELS:
        text = text.replace(old, new)
    program = folder / "parcels.py"
    program.write_text(text, encoding="utf-8")
    shape = next(each for each in SHAPES if each.program == _ROLES[role])
    trial = build_trial(shape, program, patience=4.0)
    return replace(trial, contract=PARCELS, groups=frozenset({Group.DELIVERY}))


@pytest.mark.long
@pytest.mark.parametrize("role", list(Role))
def test_a_right_client_of_parcels_passes(role: Role, tmp_path: Path) -> None:
    """Every clause of the group is exercised and passes, as over RDSS."""
    certificate, _ = certify(_trial(role, _ROLES[role].read_text(encoding="utf-8"), tmp_path), lambda _: None)
    assert certificate.failed == ()
    assert certificate.missed == ()


@pytest.mark.parametrize("wrong", _WRONG[::6], ids=lambda each: f"{each.shape.role}-{each.kind.name}")
def test_a_wrong_client_of_parcels_fails_the_clause_about_it(wrong: WrongClient, tmp_path: Path) -> None:
    """A bug is found whatever the messages look like."""
    trial = _trial(wrong.shape.role, wrong.write(tmp_path).read_text(encoding="utf-8"), tmp_path)
    judged = judge_all(trial, play_stages(trial, wrong.kind.stages))
    assert wrong.kind.clause in {name for name, each in judged.items() if each.verdict == "fail"}


@pytest.mark.long
def test_a_producer_of_messages_that_are_no_lines_is_certified(tmp_path: Path) -> None:
    """It finds binary Avro in base64, one a line, as the command says, and sends what that holds."""
    text = "import base64\n" + CLIENTS.joinpath("right_producer.py").read_text(encoding="utf-8")
    for old, new in (*_OF_PARCELS, _IN_BASE64, (".split()", ".splitlines()")):
        text = text.replace(old, new)
    (tmp_path / "producer.py").write_text(text, encoding="utf-8")
    kit = ("certify", "producer", "--seed", "7", "--no-shrink", "--json")
    ran = subprocess.run(
        [sys.executable, "-m", "sandbox", *kit, "--", sys.executable, "producer.py"],
        cwd=tmp_path,
        env={**os.environ, "SANDBOX_CONTRACT": str(FOLDER / "avro_binary.yaml")},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert "no lines of text: SANDBOX_MESSAGES has each as rawBase64" in ran.stderr
    assert json.loads(ran.stdout)["level"] == "gold", ran.stdout
