"""The socket of the AMQP port, which listens before there is anything behind it."""

from __future__ import annotations

import socket
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from emulator.machine.port_tls import PortTls
from emulator.machine.ports import explain_bind_error

_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 -- compared with, not bound


def bind_socket(host: str, port: int) -> socket.socket:
    """Bind a listening socket; clients may connect at once and wait. Raises OSError with a remedy."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        another = ", or --amqp-port 0 picks a free one"
        raise explain_bind_error(error, host, port, another) from error


def client_url(
    upstream_url: str, listening: socket.socket, password: str | None = None, tls: PortTls | None = None
) -> str:
    """The upstream's URL with the address of ``listening`` for its own, and another password if given."""
    host, port = listening.getsockname()[:2]
    reachable = tls.host if tls else _EVERYWHERE.get(host, f"[{host}]" if ":" in host else host)
    parts = urlsplit(upstream_url)
    credentials, at, _ = parts.netloc.rpartition("@")
    if password is not None:
        credentials, at = f"{credentials.partition(':')[0] or 'guest'}:{quote(password, safe='')}", "@"
    return urlunsplit(
        ("amqps" if tls else "amqp", f"{credentials}{at}{reachable}:{port}", parts.path, "", "")
    )
