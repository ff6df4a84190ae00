"""TLS of the ports: a certificate and its key are checked before anything listens."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emulator.clock import Clock
from rdss_sandbox.machine.trusted_authorities import BUNDLE

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- compared with, not bound
_HERE: Final = ("127.0.0.1", "::1", "localhost")


class TlsFilesError(Exception):
    """A certificate or a key that cannot be used; the text has its file, and what to do."""


@dataclass(frozen=True, slots=True)
class PortTls:
    """What the ports show their clients; ``http`` offers HTTP/2 too.

    ``host`` is the name or the address that the certificate is for, as it stands in a URL. ``trust`` is the
    PEM file of the authority that clients must be told to trust, None where that is not known.
    """

    http: ssl.SSLContext
    amqp: ssl.SSLContext
    host: str
    trust: Path | None


def load_tls(
    certificate: Path,
    key: Path,
    hosts: Sequence[str],
    clock: Clock,
    environment: Mapping[str, str] = os.environ,
) -> PortTls:
    """Load a certificate, with those of its issuers behind it, and its key, both in PEM.

    The first of ``hosts`` is what is listened on; each of them is what clients may call. Raises
    ``TlsFilesError``.
    """
    chain = _read_chain(certificate)
    _check_key(key, chain[0], certificate)
    _check_dates(chain[0], certificate, clock.now())
    bundle = environment.get(BUNDLE)
    own_root = any(each.issuer == each.subject for each in chain)
    return PortTls(
        _build_context(certificate, key, ["h2", "http/1.1"]),
        _build_context(certificate, key, []),
        _choose_host(chain[0], certificate, hosts),
        certificate.resolve() if own_root else Path(bundle) if bundle else None,
    )


def _build_context(certificate: Path, key: Path, protocols: list[str]) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise TlsFilesError(f"the certificate {certificate} cannot be used: {error.reason}") from error
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def _read_chain(path: Path) -> list[Certificate]:
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(_read("certificate", path))
    except ValueError as error:
        raise TlsFilesError(
            f"{path} has no certificate in PEM (-----BEGIN CERTIFICATE-----); if it is DER: "
            f"openssl x509 -inform der -in {path} -out certificate.pem"
        ) from error


def _check_key(path: Path, leaf: Certificate, certificate: Path) -> None:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    data = _read("key", path)
    try:
        key = load_pem_private_key(data, None)
    except TypeError as error:
        raise TlsFilesError(
            f"the key {path} is kept under a passphrase, which nobody can give here: "
            f"openssl pkey -in {path} -out key.pem writes it without"
        ) from error
    except ValueError as error:
        raise TlsFilesError(f"{path} has no private key in PEM (-----BEGIN PRIVATE KEY-----)") from error
    if key.public_key() != leaf.public_key():
        raise TlsFilesError(
            f"the key {path} does not fit the first certificate of {certificate}: give the key that it was "
            "requested with, and the host's own certificate before those of its issuers"
        )


def _read(what: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TlsFilesError(
            f"the {what} {path} cannot be read: {error.strerror}; give a PEM file that this user may read"
        ) from error


def _check_dates(leaf: Certificate, path: Path, now: datetime) -> None:
    first, last = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    if last < now:
        raise TlsFilesError(
            f"the certificate {path} expired at {last:%Y-%m-%dT%H:%M:%SZ}, and clients refuse it: renew it, "
            "or have one made with --tls self-signed"
        )
    if first > now:
        raise TlsFilesError(
            f"the certificate {path} holds only from {first:%Y-%m-%dT%H:%M:%SZ}: look at this machine's "
            f"clock, which shows {now:%Y-%m-%dT%H:%M:%SZ}"
        )


def _choose_host(leaf: Certificate, path: Path, hosts: Sequence[str]) -> str:
    """What URLs call the host: where it listens, if the certificate is for that, else another name of it."""
    names = list(_names(leaf))
    here = _EVERYWHERE.get(hosts[0], hosts[0])
    near = _HERE if here in _HERE else ()
    certain = [name for name in names if "*" not in name]
    for host in (here, *near, *hosts[1:], *certain):
        if host in names or _by_wildcard(host) in names:
            return f"[{host}]" if ":" in host else host
    listed = ", ".join(names) or "no host (it has no subjectAltName)"
    raise TlsFilesError(
        f"the certificate {path} is for {listed}, and not for {here}: --allow-host NAME says by which of its "
        "names clients call"
    )


def _names(leaf: Certificate) -> Iterator[str]:
    from cryptography import x509

    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return
    yield from (name.lower() for name in found.get_values_for_type(x509.DNSName))
    yield from (str(address) for address in found.get_values_for_type(x509.IPAddress))


def _by_wildcard(host: str) -> str:
    try:
        ip_address(host)
    except ValueError:
        return f"*.{host.partition('.')[2]}"
    return host
