"""A broker in memory that a test can script, messages of every kind, and an application that remembers."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.clock import Clock
from schemas.contract import SampleMaker
from tests.contracts import CONTRACTS, NAMES, make_samples
from tests.sandbox.receiver.receiver_on_tapes import NOW, Messages, Tapes


@pytest.fixture
def tapes(tmp_path: Path) -> Tapes:
    return Tapes(tmp_path, Clock(frozen_at=NOW, autojump=True))


@pytest.fixture
def messages() -> Messages:
    return Messages()


@pytest.fixture(params=CONTRACTS, ids=NAMES)
def any_tapes(request: pytest.FixtureRequest, tmp_path: Path) -> Tapes:
    """Tapes with messages of each contract."""
    return Tapes(tmp_path, Clock(frozen_at=NOW, autojump=True), contract=request.param)


@pytest.fixture
def samples(any_tapes: Tapes) -> SampleMaker:
    """Messages of the contract of ``any_tapes``."""
    return make_samples(any_tapes.contract, 1, NOW)
