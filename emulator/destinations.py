"""Where the sandbox sends what others ask it to send: to no port of its own, and to no link-local address."""

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
"""Where clouds keep credentials for their machines, beside 169.254.169.254."""
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_LAST_32_BITS: Final = 0xFFFFFFFF


class ForbiddenError(ConnectionError):
    """Nothing is sent there: says where, and why."""


class SocketAddress(NamedTuple):
    """An address to connect to."""

    address: str
    port: int


class Destinations:
    """What may be called. It learns of the sandbox's ports as they are opened."""

    def __init__(self) -> None:
        self._ports: set[int] = set()
        self._upstreams: set[tuple[str, int]] = set()

    def add_port(self, port: int) -> None:
        """A port of this machine that is the sandbox's own."""
        self._ports.add(port)

    def add_upstream(self, host: str, port: int) -> None:
        """A port elsewhere that the sandbox stands in front of."""
        self._upstreams.add((host, port))

    def check(self, url: str) -> None:
        """Raise ``ForbiddenError`` for a URL that must not be called.

        This asks the name service, which may take long.

        A name that nobody knows yet may be called: it is looked at again when something is sent.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or _SCHEME_PORTS.get(parts.scheme)
        except ValueError as error:
            raise ForbiddenError(f"{url!r} is no URL that can be called: {error}") from error
        if host and port:
            try:
                self.places(host, port)
            except OSError as error:
                if isinstance(error, ForbiddenError):
                    raise

    def places(self, host: str, port: int) -> list[SocketAddress]:
        """The addresses of ``host``, resolved once, all of which may be called.

        Whoever connects must take one of them, for the name may lead elsewhere the next time. Raises
        ``ForbiddenError`` when one of them must not be called, and OSError when there is none.
        """
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError as error:
            raise OSError(f"{host!r} is no host name") from error
        places = list(dict.fromkeys(SocketAddress(str(each[4][0]), port) for each in found))
        for place in places:
            if why := self._why_not(_embedded(ipaddress.ip_address(place.address.partition("%")[0])), port):
                raise ForbiddenError(f"{host}:{port} ({place.address}) must not be called: {why}")
        return places

    def _why_not(self, address: Address, port: int) -> str | None:
        if address.is_link_local or address in _METADATA:
            return "it is link-local, where clouds keep credentials"
        if port in self._ports and _is_of_this_machine(address):
            return "it is the sandbox itself"
        if any(port == its and address in _addresses(host) for host, its in self._upstreams):
            return "it is what the sandbox stands in front of"
        return None


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, where it stands for one."""
    if isinstance(address, IPv6Address):
        if address in _NAT64:
            return IPv4Address(int(address) & _LAST_32_BITS)
        return address.ipv4_mapped or address.sixtofour or address
    return address


def _is_of_this_machine(address: Address) -> bool:
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        try:
            # Only what is this machine's can be bound.
            asking.bind((str(address), 0))
        except OSError:
            return False
    return True


def _addresses(host: str) -> set[Address]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return set()
    return {_embedded(ipaddress.ip_address(str(each[4][0]).partition("%")[0])) for each in found}
