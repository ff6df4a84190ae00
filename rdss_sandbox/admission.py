"""Which requests are let in, by what they say of whom they ask for and of the page that asks.

A page that has rebound its own name to our address names another host. A browser says in ``Origin`` which
page asks, and in ``Sec-Fetch-Site`` how far away that is, where images, scripts, frames and links have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit

HeaderMap: TypeAlias = dict[bytes, bytes]

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")

_OTHER_SITES: Final = (b"cross-site", b"same-site")


class Admission(NamedTuple):
    """``hosts`` are the names that are ours, ``origins`` the pages that may use us, in lower case."""

    hosts: frozenset[str]
    origins: frozenset[str]
    token: str | None

    @classmethod
    def of(cls, hosts: Iterable[str], origins: Iterable[str] = (), token: str | None = None) -> Self:
        """The names of this machine are ours beside ``hosts``."""
        return cls(
            frozenset(name.lower() for name in (*LOOPBACK, *hosts)),
            frozenset(origin.lower().rstrip("/") for origin in origins),
            token,
        )

    def allowed_page(self, headers: HeaderMap) -> bytes | None:
        """The origin that asks, if it is one of those that may."""
        if not self.origins:
            return None
        origin = headers.get(b"origin") or _origin_of(headers.get(b"referer", b""))
        return origin if origin.decode("latin-1").lower() in self.origins else None


def foreign_page(headers: HeaderMap) -> str | None:
    """The page of elsewhere that asks; None when none does."""
    origin = headers.get(b"origin")
    if origin is not None:
        own = b"http://" + headers.get(b"host", b"").lower()
        return None if origin.lower() == own else origin.decode("latin-1")
    if headers.get(b"sec-fetch-site", b"").lower() in _OTHER_SITES:
        return (_origin_of(headers.get(b"referer", b"")) or b"of another site").decode("latin-1")
    return None


def host_name(host: bytes) -> str:
    """The name in a Host header, in lower case, without its port and an IPv6 address's brackets."""
    written = host.decode("latin-1").lower()
    if written.startswith("["):
        return written[1:].partition("]")[0]
    return written.partition(":")[0]


def _origin_of(url: bytes) -> bytes:
    try:
        parts = urlsplit(url.decode("latin-1"))
    except ValueError:
        return b""
    return f"{parts.scheme}://{parts.netloc}".encode("latin-1") if parts.netloc else b""
