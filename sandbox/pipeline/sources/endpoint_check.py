"""Checks that a server answers, made before the slow start of Spark."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from sandbox.pipeline.spark.failures import UnavailableError, UsageError

_PORTS = {"http": 80, "https": 443, "sc": 15002}


def require_endpoint(url: str | None, seconds: float = 3.0) -> None:
    """Raise UnavailableError if no server accepts a connection in ``seconds``. None, which is AWS, passes."""
    if url is None:
        return
    try:
        _connect(url, seconds)
    except (ValueError, KeyError):
        raise UnavailableError(f"{url} is not an endpoint: it must be like http://127.0.0.1:4566") from None
    except OSError as refused:
        why = refused.strerror or str(refused)
        raise UnavailableError(
            f"nothing answers at {url}: {why}; start one with: sandbox up, or name another with --endpoint"
        ) from None


def require_connect_server(url: str, seconds: float = 3.0) -> None:
    """Raise UnavailableError if no Spark Connect server accepts a connection: PySpark would try for minutes.

    Raises UsageError for what is no URL of one.
    """
    try:
        _connect(url if url.startswith("sc://") else "", seconds)
    except (ValueError, KeyError):
        raise UsageError(f"{url} is no Spark Connect server: it must be like sc://127.0.0.1:15002") from None
    except OSError as refused:
        why = refused.strerror or str(refused)
        raise UnavailableError(f"no Spark Connect server answers at {url}: {why}") from None


def _connect(url: str, seconds: float) -> None:
    named = urlsplit(url)
    port = named.port or _PORTS[named.scheme]
    socket.create_connection((named.hostname or "", port), timeout=seconds).close()
