"""What the examples in Python take for a right message is what the sandbox takes for one."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from types import ModuleType

import pytest

from emulator.clock import Clock
from schemas.rdss import MAX_MESSAGE_BYTES
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.older_versions import upgrade
from schemas.rdss.peek import peek
from schemas.rdss.sample_errors import SPOILS
from schemas.rdss.sample_older_versions import UPGRADED_RELEASES, older_sample
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import body_of, join
from schemas.rdss.validation import judge
from tests.docs.pages import ROOT

_CODES = (*SPOILS, ErrorCode.GENERR007)


@pytest.fixture(scope="module")
def contract() -> ModuleType:
    spec = importlib.util.spec_from_file_location("contract", ROOT / "examples/python/contract.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _messages() -> Iterator[bytes]:
    samples = Samples(3, now=Clock().time())
    yield from map(serialise, samples.stream(80))
    for _ in range(12):
        yield from map(samples.bad, _CODES)
    yield from (b"", b"[]", b"1", b"{}", b'{"messageHeader": 1}', b'{"messageHeader": {}, "messageBody": {}}')


def test_it_finds_the_code_that_the_sandbox_finds(contract: ModuleType) -> None:
    """Of valid messages of every kind, several bad ones for each code, and what is hardly a message."""
    for data in _messages():
        _, code = contract.read(data)
        assert code == judge(data, now=Clock().time()).code, data
        assert code or contract.body_text(data).encode() == body_of(data)


@pytest.mark.parametrize("version", UPGRADED_RELEASES)
def test_it_upgrades_as_the_sandbox_does(contract: ModuleType, version: str) -> None:
    samples = Samples(3)
    for _ in range(10):
        data = serialise(older_sample(samples, version))
        message, code = contract.read(data)
        assert (code, message) == (None, json.loads(upgrade(data, version)))


def test_it_splits_and_joins(contract: ModuleType) -> None:
    """The parts are valid, not too large, the same when they are made again, and join to the body."""
    data = serialise(Samples(3).big_message(3))
    parts = contract.split(data)
    assert parts == contract.split(data)
    assert all(len(part) <= MAX_MESSAGE_BYTES and judge(part).valid for part in parts)
    assert len({peek(part).message_id for part in parts}) == len(parts)
    assert body_of(contract.join(reversed(parts))) == body_of(join(parts)) == body_of(data)


@pytest.mark.parametrize("code", _CODES)
def test_what_it_rejects_carries_the_code(contract: ModuleType, code: ErrorCode) -> None:
    """The messageId stays, and so does the body."""
    data = Samples(3).bad(code)
    seen = peek(contract.decorate(data, code.value))
    assert (seen.error_code, seen.message_id) == (code, peek(data).message_id)
