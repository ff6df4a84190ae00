"""A private certificate authority and the certificates that it issues: for ports, file servers and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from emulator.clock import Clock
from emulator.machine.private_files import touch

_AUTHORITY_LIFE: Final = timedelta(days=3650)
_LEEWAY: Final = timedelta(hours=1)
_LONGEST_COMMON_NAME: Final = 64


@dataclass(frozen=True, slots=True)
class Authority:
    """A private certificate authority; clients trust it by its ``certificate``."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def write_certificate(self, path: Path) -> Path:
        """Write the authority's certificate in PEM and return the path."""
        path.write_bytes(_pem(self.certificate))
        return path

    def write_key(self, path: Path) -> None:
        """Write the authority's key in PEM, for this user alone."""
        touch(path).write_bytes(_key_pem(self.key))

    def issue(self, hosts: Sequence[str], clock: Clock, *, life: timedelta = timedelta(days=30)) -> bytes:
        """Issue a key and a certificate for the names and addresses of a host, together in PEM.

        A negative ``life`` is already expired.
        """
        key = _new_key()
        now = clock.now()
        builder = _build_unsigned(_name(hosts[0]), self.certificate.subject, key)
        certificate = (
            builder.not_valid_before(min(now, now + life) - _LEEWAY)
            .not_valid_after(now + life)
            .add_extension(x509.SubjectAlternativeName(list(map(_general_name, hosts))), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False
            )
            .sign(self.key, hashes.SHA256())
        )
        return _key_pem(key) + _pem(certificate)


def new_authority(clock: Clock) -> Authority:
    """Create a certificate authority."""
    key, name, now = _new_key(), _name("RDSS sandbox certificate authority"), clock.now()
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        _build_unsigned(name, name, key)
        .not_valid_before(now - _AUTHORITY_LIFE)
        .not_valid_after(now + _AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate, key)


def read_authority(certificate: Path, key: Path) -> Authority:
    """Read the files of an authority. Raises OSError, and ValueError for what is none."""
    found = serialization.load_pem_private_key(key.read_bytes(), None)
    trusted = x509.load_pem_x509_certificate(certificate.read_bytes())
    if not isinstance(found, ec.EllipticCurvePrivateKey) or found.public_key() != trusted.public_key():
        raise ValueError(f"{key.name} is not the key of {certificate.name}")
    return Authority(trusted, found)


def _build_unsigned(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text[:_LONGEST_COMMON_NAME])])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form, unprotected = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, unprotected)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
