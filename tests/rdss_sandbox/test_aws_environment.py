"""AWS SDKs are pointed at a sandbox for the time of a context."""

from __future__ import annotations

import boto3
import pytest

from rdss_sandbox.aws_environment import pointed_at

URL = "http://127.0.0.1:4566"


def credentials() -> tuple[str, str | None]:
    """The access key and session token that boto3's functions use."""
    with_these = boto3._get_default_session().get_credentials()
    return with_these.access_key, with_these.token


def test_credentials_that_boto3_found_before_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its default session keeps them, and is there again afterwards; each sandbox has its token."""
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    assert credentials() == ("mine", None)
    for token in ("one", "another"):
        with pointed_at(URL, "us-east-1", token):
            assert credentials() == ("test", token)
    with pointed_at(URL, "us-east-1"):
        assert credentials() == ("test", "test")
    assert credentials() == ("mine", None)
