"""A check that an endpoint answers, made before the slow start of Spark."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from sandbox.pipeline.spark.failures import UnavailableError

_PORTS = {"http": 80, "https": 443}


def require_endpoint(url: str | None, seconds: float = 3.0) -> None:
    """Raise UnavailableError if no server accepts a connection in ``seconds``. None, which is AWS, passes."""
    if url is None:
        return
    named = urlsplit(url)
    try:
        port = named.port or _PORTS[named.scheme]
        socket.create_connection((named.hostname or "", port), timeout=seconds).close()
    except (ValueError, KeyError):
        raise UnavailableError(f"{url} is not an endpoint: it must be like http://127.0.0.1:4566") from None
    except OSError as refused:
        why = refused.strerror or str(refused)
        raise UnavailableError(
            f"nothing answers at {url}: {why}; start one with: sandbox up, or name another with --endpoint"
        ) from None
