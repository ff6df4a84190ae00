"""Which addresses the sandbox may call for its users: none of its own ports, and no link-local address."""

from __future__ import annotations

import ipaddress
import socket
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

Address: TypeAlias = IPv4Address | IPv6Address

_SCHEME_PORTS: Final = {"http": 80, "https": 443}
_METADATA: Final = frozenset(
    map(ipaddress.ip_address, ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16"))
)
"""Addresses where clouds serve credentials to their machines, beside 169.254.169.254."""
_STAND_FOR_IPV4: Final = tuple(
    map(ipaddress.ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96", "::/96"))
)
"""NAT64, also of a network's own (RFC 8215), stateless translation, and what was once called compatible."""
_UNSPECIFIED_OR_LOOPBACK: Final = 1
_LAST_32_BITS: Final = 0xFFFFFFFF


class ForbiddenError(ConnectionError):
    """A destination that must not be called; the text says which one, and why."""


class SocketAddress(NamedTuple):
    """An address to connect to."""

    address: str
    port: int


class Destinations:
    """The rule of what may be called. The sandbox's ports are added as they open."""

    def __init__(self) -> None:
        self._ports: set[int] = set()
        self._upstreams: set[tuple[str, int]] = set()

    def add_port(self, port: int) -> None:
        """Forbid a port of this machine, because it is the sandbox's own."""
        self._ports.add(port)

    def add_upstream(self, host: str, port: int) -> None:
        """Forbid a port of an upstream that the sandbox relays to."""
        self._upstreams.add((host, port))

    def check(self, url: str) -> None:
        """Raise ``ForbiddenError`` for a URL that must not be called.

        This asks the name service, which may take long. An unknown name passes, because
        ``resolve`` checks it again when something is sent.
        """
        if "\\" in url or not url.isprintable() or " " in url:
            # Clients differ in what the host of such a URL is.
            raise ForbiddenError(
                f"{url!r} is no URL that can be called: it has a character that none may have"
            )
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or _SCHEME_PORTS.get(parts.scheme)
        except ValueError as error:
            raise ForbiddenError(f"{url!r} is no URL that can be called: {error}") from error
        if host and "%" in host and ":" not in host:
            raise ForbiddenError(f"{url!r} is no URL that can be called: its host is in escapes")
        if host and port:
            try:
                self.resolve(host, port)
            except OSError as error:
                if isinstance(error, ForbiddenError):
                    raise

    def resolve(self, host: str, port: int) -> list[SocketAddress]:
        """Resolve ``host`` once, to addresses that may all be called.

        The caller must connect to one of them, because the name may resolve differently the next time.
        Raises ``ForbiddenError`` when one of them must not be called, and OSError when there is none.
        """
        try:
            found = socket.getaddrinfo(_plain_name(host), port, type=socket.SOCK_STREAM)
        except UnicodeError as error:
            raise OSError(f"{host!r} is no host name") from error
        addresses = list(dict.fromkeys(SocketAddress(str(each[4][0]), port) for each in found))
        for address in addresses:
            if why := self._find_objection(_parse_address(address.address), port):
                raise ForbiddenError(f"{host}:{port} ({address.address}) must not be called: {why}")
        return addresses

    def _find_objection(self, address: Address, port: int) -> str | None:
        if address.is_link_local or address in _METADATA:
            return "it is link-local, where clouds keep credentials"
        if port in self._ports and _belongs_to_this_machine(address):
            return "it is the sandbox itself"
        if any(port == upstream and address in _look_up(host) for host, upstream in self._upstreams):
            return "it is what the sandbox stands in front of"
        return None


def _plain_name(host: str) -> str:
    """The host without a final dot; ``localhost`` for every name that means it (RFC 6761 section 6.3).

    Many name services know neither, and a client may resolve them all the same.
    """
    plain = host.rstrip(".\u3002\uff0e\uff61").lower()
    return "localhost" if plain.endswith(".localhost") else plain


def _parse_address(text: str) -> Address:
    """Parse an address. An IPv6 address that stands for an IPv4 address becomes that one."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        translated = any(address in network for network in _STAND_FOR_IPV4)
        if translated and int(address) > _UNSPECIFIED_OR_LOOPBACK:
            return IPv4Address(int(address) & _LAST_32_BITS)
        return address.ipv4_mapped or address.sixtofour or address
    return address


def _belongs_to_this_machine(address: Address) -> bool:
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            # Only an address of this machine can be bound.
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True


def _look_up(host: str) -> set[Address]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return set()
    return {_parse_address(str(each[4][0])) for each in found}
