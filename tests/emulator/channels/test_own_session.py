"""Clients that a sandbox has of itself, in the environment of a user who works with AWS."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from emulator.assembly.embedded import embedded
from emulator.channels.aws_session import own_session
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.messages import NewMessage


@pytest.fixture(autouse=True)
def _users_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What leads a client of AWS elsewhere, or has it refuse to be made."""
    broken = tmp_path / "config"
    broken.write_text("[profile", encoding="utf-8")
    for name, value in {
        "AWS_PROFILE": "of-a-colleague",
        "AWS_CONFIG_FILE": str(broken),
        "AWS_SHARED_CREDENTIALS_FILE": str(broken),
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1",
        "AWS_USE_FIPS_ENDPOINT": "true",
        "AWS_CA_BUNDLE": "/nowhere.pem",
        "http_proxy": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_the_buckets_and_their_audit_log_are_the_sandboxs_own() -> None:
    """A message is in its object, and the objects are listed."""
    settings = Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)
    with embedded(settings) as emulator, Client(emulator.control) as client:
        client.send(NewMessage("input", b"x"))
        client.drain_audit()
        assert len(client.objects("rdss-audit").objects) == 1
        with closing(own_session("us-east-1").client("kinesis", endpoint_url=emulator.aws)) as kinesis:
            assert "input" in kinesis.list_streams()["StreamNames"]
