"""boto3 sessions for our own clients, with shared service models."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import boto3
    from botocore.session import Session


def aws_session(region: str, token: str | None = None, trust: Path | None = None) -> boto3.Session:
    """A session with the environment's credentials, or with a pair that every emulator accepts.

    A sandbox's ``token`` becomes the session token. The authorities in ``trust`` are trusted, or those of the
    environment.
    """
    import boto3
    from botocore.session import Session

    described = Session()
    if trust is not None:
        described.set_config_variable("ca_bundle", str(trust))
    described.register_component("data_loader", _descriptions())
    session = boto3.Session(region_name=region, botocore_session=described)
    found = session.get_credentials()
    if found is None:
        described.set_credentials("sandbox", "sandbox", token)
    elif token:
        described.set_credentials(found.access_key, found.secret_key, token)
    return session


def own_session(region: str, token: str | None = None, trust: Path | None = None) -> boto3.Session:
    """A session for clients that a sandbox has of itself, with a pair that it accepts and its ``token``.

    The authorities in ``trust`` are trusted, or the common ones.
    """
    import boto3

    sealed = sealed_session()
    if trust is not None:
        sealed.set_config_variable("ca_bundle", str(trust))
    sealed.register_component("data_loader", _descriptions())
    sealed.set_credentials("sandbox", "sandbox", token)
    return boto3.Session(region_name=region, botocore_session=sealed)


def sealed_session() -> Session:
    """A session that no variable and no file of its user's leads elsewhere, such as a profile or a proxy."""
    from botocore.config import Config
    from botocore.session import Session

    known: Any = Session.SESSION_VARIABLES
    variables: Any = {name: (None, None, *defaults) for name, (_, _, *defaults) in known.items()}
    for file in ("config_file", "credentials_file"):
        variables[file] = (None, None, os.devnull, None)
    session = Session(session_vars=variables)
    session.set_default_client_config(Config(proxies={}))
    return session


@cache
def _descriptions() -> Any:
    """Botocore's loader of service models, shared because each session would read megabytes of JSON again."""
    from botocore.loaders import create_loader

    return create_loader()
