"""Whom a client of ours trusts over TLS."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Final

BUNDLE: Final = "AWS_CA_BUNDLE"
"""The variable that names a PEM file of further authorities, for AWS's clients and for ours."""


def trusting(authorities: Path | str | None) -> ssl.SSLContext:
    """A context that trusts the common authorities, and the certificates in the PEM file ``authorities``.

    The common ones are those of this machine and certifi's. Raises OSError for a file that cannot be read.
    """
    # Slow to import, and few connections speak TLS.
    import httpx

    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    if authorities is not None:
        context.load_verify_locations(authorities)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def trusting_bundle(authorities: Path | str | None = None) -> ssl.SSLContext:
    """The same with the environment's authorities where none are given. Raises OSError."""
    return trusting(authorities or os.environ.get(BUNDLE) or None)


def untrusted(error: BaseException | None) -> str | None:
    """The reason why a certificate is not trusted; None for other errors."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None
