"""How pika connects to a broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rdss_sandbox.machine.trusted_authorities import trusting_bundle

if TYPE_CHECKING:
    from pika import URLParameters


def read_parameters(url: str, trust: Path | None = None) -> URLParameters:
    """The parameters of an AMQP URL.

    With amqps, the authorities in ``trust`` are trusted, or those of the environment. Raises OSError for
    those that cannot be read.
    """
    import pika

    parameters = pika.URLParameters(url)
    parts = urlsplit(url)
    if parts.scheme == "amqps":
        parameters.ssl_options = pika.SSLOptions(trusting_bundle(trust), parts.hostname)
    return parameters
