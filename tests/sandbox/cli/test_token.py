"""A sandbox with a token, and the commands of who started it."""

from __future__ import annotations

import json
from collections.abc import Callable

import boto3
import pytest

from tests.sandbox.cli.conftest import Ran
from tests.sandbox.cli.test_private_files import UP


@pytest.mark.slow
def test_our_own_commands_have_the_token(
    process: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message is sent, routed, received and audited; nobody has to say the token again."""
    monkeypatch.setenv("SANDBOX_TOKEN", "not-to-be-guessed")
    up = process("up", *UP)
    assert up.code == 0, up.err
    monkeypatch.delenv("SANDBOX_TOKEN")
    sent = process("send", "-", stdin=process("message", "sample").out)
    assert sent.code == 0, sent.err
    came = process("receive", "--count", "1", "--channel", "input")
    assert came.code == 0, came.err
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "sandbox")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sandbox")
    said = json.loads(up.out)
    there = {"endpoint_url": said["aws"], "region_name": said["region"]}
    with pytest.raises(Exception, match="AWS_SESSION_TOKEN"):
        boto3.Session().client("s3", **there).list_buckets()
    monkeypatch.setenv("AWS_SESSION_TOKEN", said["token"])
    boto3.Session().client("s3", **there).list_buckets()
