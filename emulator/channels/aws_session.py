"""boto3 sessions for our own clients, with the environment's credentials and shared service models."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import boto3


def aws_session(region: str, token: str | None = None) -> boto3.Session:
    """A session with the environment's credentials, or with a pair that every emulator accepts.

    A sandbox's ``token`` becomes the session token.
    """
    import boto3
    from botocore.session import Session

    described = Session()
    described.register_component("data_loader", _descriptions())
    session = boto3.Session(region_name=region, botocore_session=described)
    found = session.get_credentials()
    if found is None:
        described.set_credentials("sandbox", "sandbox", token)
    elif token:
        described.set_credentials(found.access_key, found.secret_key, token)
    return session


@cache
def _descriptions() -> Any:
    """Botocore's loader of service models, shared because each session would read megabytes of JSON again."""
    from botocore.loaders import create_loader

    return create_loader()
