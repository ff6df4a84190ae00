"""The environment variables that point an AWS SDK at a sandbox, and those that would lead it elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rdss_sandbox.machine.trusted_authorities import BUNDLE

_CREDENTIALS: Final = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_SESSION_TOKEN": "test",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_ELSEWHERE: Final = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_ENDPOINT_URL_",
)
"""The endpoint of one service, ``AWS_ENDPOINT_URL_S3``, wins over that of all."""


def aws_environment(
    url: str, region: str, token: str | None = None, trust: Path | str | None = None
) -> dict[str, str]:
    """The variables for the AWS port at ``url``, which asks for ``token`` where it has one.

    ``trust`` is the PEM file of the authority of its certificate; None where clients need not be told.
    """
    regions = {"AWS_DEFAULT_REGION": region, "AWS_REGION": region}
    found = {**_CREDENTIALS, **regions, "AWS_ENDPOINT_URL": url, **trust_environment(trust)}
    return found if token is None else {**found, "AWS_SESSION_TOKEN": token}


def trust_environment(trust: Path | str | None) -> dict[str, str]:
    """The variables that have AWS's SDKs, and Node, trust the authority in the PEM file ``trust``."""
    return {} if trust is None else dict.fromkeys((BUNDLE, "NODE_EXTRA_CA_CERTS"), str(trust))


def leading_elsewhere(environment: Mapping[str, str]) -> list[str]:
    """The names of the variables that would lead an AWS SDK to another endpoint or account."""
    return [name for name in environment if name.startswith(_ELSEWHERE)]


@contextmanager
def pointed_at(url: str, region: str, token: str | None = None) -> Iterator[None]:
    """Have this process's environment point AWS SDKs at ``url`` for the time of the context.

    boto3's default session is another one meanwhile, since it keeps the credentials that it found first.
    """
    session = _replace_default_session(_sessions.get(token))
    before = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    for name in leading_elsewhere(before):
        del os.environ[name]
    ours = aws_environment(url, region, token)
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)
        os.environ.update(before)
        used = _replace_default_session(session)
        if token is None:
            _sessions[None] = used


_sessions: Final[dict[str | None, object]] = {}
"""The default session of contexts without a token. It is kept, since a new one reads all it needs again."""


def _replace_default_session(session: object) -> object:
    """Give boto3 another default session, if boto3 is imported; return the one that it had."""
    boto3: Any = sys.modules.get("boto3")
    if boto3 is None:
        return None
    before, boto3.DEFAULT_SESSION = boto3.DEFAULT_SESSION, session
    return before
