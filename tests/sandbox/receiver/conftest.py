"""A broker in memory that a test can script, messages of every kind, and an application that remembers."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.clock import Clock
from schemas.contract import SampleMaker
from tests.contracts import CONTRACTS, NAMES, make_samples
from tests.sandbox.receiver.receiver_on_tapes import NOW, Messages, Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, Clock(frozen_at=NOW, autojump=True))


@pytest.fixture
def messages() -> Messages:
    return Messages()


@pytest.fixture(params=CONTRACTS, ids=NAMES)
def any_site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    """A site for messages of each contract."""
    return Site(tmp_path, Clock(frozen_at=NOW, autojump=True), contract=request.param)


@pytest.fixture
def samples(any_site: Site) -> SampleMaker:
    """Messages of the contract of ``any_site``."""
    return make_samples(any_site.contract, 1, NOW)
