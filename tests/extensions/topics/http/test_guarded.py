"""Who may reach the topics port of a whole sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from extensions.topics.settings import TopicSettings

SETTINGS = Settings(aws_port=0, control_port=0, data_dir=None, seed=7)


@pytest.fixture(scope="module")
def emulator() -> Iterator[Embedded]:
    with embedded(SETTINGS) as running:
        yield running


def socket(emulator: Embedded, **headers: str) -> int:
    """The status with which the handshake was answered."""
    url = f"{emulator.urls['topics'].replace('http', 'ws')}/topics/ws"
    try:
        with connect(url, proxy=None, additional_headers=headers):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def test_a_token_of_the_sandbox_guards_its_topics_too() -> None:
    """Beyond loopback there is a token, and nobody gets in without it."""
    with embedded(replace(SETTINGS, token="secret")) as emulator:
        assert socket(emulator) == 401
        assert socket(emulator, authorization="Bearer secret") == 101


def test_users_with_tokens_need_no_other(tmp_path: Path) -> None:
    """Where topics have users of their own, theirs are the tokens that count."""
    file = tmp_path / "topics.yaml"
    file.write_text("users: [{name: ada, token: t1}]\n")
    with embedded(replace(SETTINGS, token="secret", extensions=(TopicSettings(topics=file),))) as emulator:
        assert socket(emulator, authorization="Bearer secret") == 401
        assert socket(emulator, authorization="Bearer t1") == 101


def test_the_status_says_where_topics_are(emulator: Embedded) -> None:
    """The port is found by asking the control API."""
    assert emulator.status().ports["topics"] == emulator.urls["topics"]
