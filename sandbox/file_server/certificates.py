"""Certificates for tests and runs: a private authority and the certificates that it issues."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from emulator.clock import Clock

_AUTHORITY_LIFE: Final = timedelta(days=365)
_LEEWAY: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Authority:
    """A private certificate authority; clients trust it by its ``certificate``."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def write_certificate(self, path: Path) -> Path:
        """Write the authority's certificate in PEM and return the path."""
        path.write_bytes(_pem(self.certificate))
        return path

    def issue(self, host: str, clock: Clock, *, life: timedelta = timedelta(days=30)) -> bytes:
        """Issue a key and certificate for a host, together in PEM; a negative ``life`` is already expired."""
        key = _new_key()
        now = clock.now()
        builder = _build_unsigned(_name(host), self.certificate.subject, key)
        certificate = (
            builder.not_valid_before(min(now, now + life) - _LEEWAY)
            .not_valid_after(now + life)
            .add_extension(x509.SubjectAlternativeName([_general_name(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False
            )
            .sign(self.key, hashes.SHA256())
        )
        unprotected = serialization.NoEncryption()
        form = serialization.PrivateFormat.PKCS8
        return key.private_bytes(serialization.Encoding.PEM, form, unprotected) + _pem(certificate)


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
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
