"""The rules that decide which HTTP requests are admitted: by ``Host`` header and by the page that asks.

A DNS rebinding attack points the attacker's host name at our address; its requests then carry that name in
``Host``. Cross-site requests are seen by ``Origin``. Images, scripts, frames and links send no ``Origin``;
for them browsers send ``Sec-Fetch-Site``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit

HeaderMap: TypeAlias = dict[bytes, bytes]

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")

_OTHER_SITES: Final = (b"cross-site", b"same-site")
_DECIDING: Final = (b"host", b"origin", b"sec-fetch-site")
_HOST: Final = re.compile(r"(?:\[([^][@/,\s]+)]|([^][:@/,?#\\\s]+))(?::\d*)?")
"""What a Host header may be (RFC 9110 section 7.2): a name or an address, and a port."""


class Admission(NamedTuple):
    """What a server admits; host names and origins are in lower case.

    ``hosts`` are the server's own names. ``origins`` are the other web pages that may use it. ``token`` is
    the bearer token that every request needs, None where none is needed.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    token: str | None

    @classmethod
    def of(cls, hosts: Iterable[str], origins: Iterable[str] = (), token: str | None = None) -> Self:
        """Admit ``hosts`` and the loopback names."""
        return cls(
            frozenset(name.lower() for name in (*LOOPBACK, *hosts)),
            frozenset(origin.lower().rstrip("/") for origin in origins),
            token,
        )

    def allowed_page(self, headers: HeaderMap) -> bytes | None:
        """The origin of the page that asks, if it is one of ``origins``; else None."""
        if not self.origins:
            return None
        origin = headers.get(b"origin") or _origin_of(headers.get(b"referer", b""))
        return origin if origin.decode("latin-1").lower() in self.origins else None


def foreign_page(headers: HeaderMap, scheme: str = "http") -> str | None:
    """The origin of the page of another site that asks; None for our own pages and for other clients.

    Our own are those of the ``scheme`` and of the host that is asked.
    """
    origin = headers.get(b"origin")
    if origin is not None:
        own = scheme.encode() + b"://" + headers.get(b"host", b"").lower()
        return None if origin.lower() == own else origin.decode("latin-1") or "without a name"
    if headers.get(b"sec-fetch-site", b"").lower() in _OTHER_SITES:
        return (_origin_of(headers.get(b"referer", b"")) or b"of another site").decode("latin-1")
    return None


def host_name(host: bytes) -> str:
    """The name in a Host header, in lower case, without its port and an IPv6 address's brackets.

    Empty for what is no host and port: another reader of it may see another name there.
    """
    found = _HOST.fullmatch(host.decode("latin-1").lower())
    return found[1] or found[2] if found else ""


def is_ambiguous(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a header by which requests are let in comes more than once; names are in lower case."""
    deciding = [name for name, _ in headers if name in _DECIDING]
    return len(deciding) != len(set(deciding))


def _origin_of(url: bytes) -> bytes:
    try:
        parts = urlsplit(url.decode("latin-1"))
    except ValueError:
        return b""
    return f"{parts.scheme}://{parts.netloc}".encode("latin-1") if parts.netloc else b""
