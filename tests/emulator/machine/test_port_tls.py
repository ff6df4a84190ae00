"""A certificate and its key are checked before anything listens, and what is wrong with them is told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)

from emulator.clock import Clock
from emulator.machine.certificate_authority import new_authority
from emulator.machine.port_tls import PortTls, TlsFilesError, load_tls

CLOCK = Clock()
HERE = ("127.0.0.1",)


def issue(path: Path, *hosts: str, days: int = 30) -> Path:
    path.write_bytes(new_authority(CLOCK).issue(hosts or HERE, CLOCK, life=timedelta(days=days)))
    return path


def load(
    certificate: Path, key: Path | None = None, hosts: tuple[str, ...] = HERE, bundle: str = ""
) -> PortTls:
    return load_tls(certificate, key or certificate, hosts, CLOCK, {"AWS_CA_BUNDLE": bundle})


def refusal(certificate: Path, key: Path | None = None, hosts: tuple[str, ...] = HERE) -> str:
    with pytest.raises(TlsFilesError) as refused:
        load(certificate, key, hosts)
    return str(refused.value)


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    """Both files are named, and what to give."""
    ours, others = issue(tmp_path / "ours.pem"), issue(tmp_path / "others.pem")

    said = refusal(ours, others)

    assert f"the key {others} does not fit the first certificate of {ours}" in said
    assert "give the key that it was requested with" in said


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path / "none.pem")
    assert said.startswith(f"the certificate {tmp_path}/none.pem cannot be read: No such file or directory")
    said = refusal(issue(tmp_path / "host.pem"), tmp_path)
    assert said.startswith(f"the key {tmp_path} cannot be read: Is a directory")


def test_what_is_no_pem_is_refused(tmp_path: Path) -> None:
    """With the command that turns DER into it."""
    file = tmp_path / "host.der"
    file.write_bytes(b"\x30\x82")
    assert f"openssl x509 -inform der -in {file}" in refusal(file)
    assert f"{file} has no private key in PEM" in refusal(issue(tmp_path / "host.pem"), file)


def test_a_key_under_a_passphrase_is_refused(tmp_path: Path) -> None:
    """With the command that takes it off."""
    key = tmp_path / "key.pem"
    key.write_bytes(
        ec.generate_private_key(ec.SECP256R1()).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
        )
    )
    assert f"openssl pkey -in {key} -out" in refusal(issue(tmp_path / "host.pem"), key)


def test_an_expired_certificate_is_refused(tmp_path: Path) -> None:
    """With the moment, and what to do."""
    said = refusal(issue(tmp_path / "old.pem", days=-1))
    assert "old.pem expired at 20" in said
    assert "renew it" in said


@pytest.mark.parametrize(
    ("names", "hosts", "called"),
    [
        (["127.0.0.1", "localhost"], ("127.0.0.1",), "127.0.0.1"),
        (["localhost"], ("127.0.0.1",), "localhost"),
        (["localhost"], ("0.0.0.0",), "localhost"),
        (["::1"], ("::1",), "[::1]"),
        (["sandbox.example.org"], ("127.0.0.1",), "sandbox.example.org"),
        (["a.example.org", "b.example.org"], ("0.0.0.0", "b.example.org"), "b.example.org"),
        (["*.example.org"], ("127.0.0.1", "b.example.org"), "b.example.org"),
    ],
)
def test_urls_have_a_name_that_the_certificate_is_for(
    tmp_path: Path, names: list[str], hosts: tuple[str, ...], called: str
) -> None:
    """The address listened on if that is one, else another of its names, those that were allowed first."""
    assert load(issue(tmp_path / "host.pem", *names), hosts=hosts).host == called


def test_a_certificate_for_no_host_of_ours_is_refused(tmp_path: Path) -> None:
    """It says what it is for, and how to name one of its hosts."""
    said = refusal(issue(tmp_path / "host.pem", "*.example.org"))
    assert "is for *.example.org, and not for 127.0.0.1: --allow-host NAME" in said


def test_whom_clients_are_told_to_trust(tmp_path: Path) -> None:
    """The file that has the root, else what the environment trusts, else nobody."""
    authority = new_authority(CLOCK)
    leaf, whole = tmp_path / "leaf.pem", tmp_path / "whole.pem"
    leaf.write_bytes(authority.issue(HERE, CLOCK))
    whole.write_bytes(leaf.read_bytes() + authority.write_certificate(tmp_path / "ca.pem").read_bytes())

    assert load(whole).trust == whole
    assert load(leaf).trust is None
    assert load(leaf, bundle="/etc/ours.pem").trust == Path("/etc/ours.pem")
