"""A file server of the test's own, with its certificate, and files on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from hashlib import md5, sha256
from pathlib import Path

import pytest

from emulator.clock import Clock
from emulator.machine.certificate_authority import Authority, new_authority
from sandbox.download.download import Downloads
from sandbox.download.http import HttpSource
from sandbox.download.https import HttpsSource
from sandbox.download.remote_file import Checksum, RemoteFile
from sandbox.file_server.misbehaving_server import FileServer, Trouble

UUID = "0f6b1d0e-3e0c-4b0e-9c2d-3a8a3f0a4a11"
CONTENT = bytes(range(256)) * 1000


def described(
    location: str, content: bytes = CONTENT, name: str = "reef.csv", platform: str = "HTTP"
) -> RemoteFile:
    """A file as metadata that is right describes it."""
    checksums = (
        Checksum("md5", md5(content).hexdigest()),
        Checksum("sha256", sha256(content).hexdigest().upper()),
    )
    return RemoteFile(UUID, location, name, len(content), checksums, platform)


@dataclass
class Place:
    """A server's folder, the authority that vouches for it, and a staging area."""

    folder: Path
    staging: Path
    authority: Authority
    trusted: Path
    clock: Clock
    serve: Callable[..., FileServer]
    downloads: Callable[..., Downloads]
    warnings: list[str]


@pytest.fixture(scope="session")
def authority() -> Authority:
    return new_authority(Clock())


@pytest.fixture
def place(tmp_path: Path, authority: Authority) -> Iterator[Place]:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "reef.csv").write_bytes(CONTENT)
    trusted = authority.write_certificate(tmp_path / "authority.pem")
    clock = Clock(autojump=True)
    warnings: list[str] = []
    with ExitStack() as stack:

        def serve(
            *, life: timedelta = timedelta(days=1), plain: bool = False, **trouble: object
        ) -> FileServer:
            certificate = None if plain else tmp_path / "host.pem"
            if certificate is not None:
                certificate.write_bytes(authority.issue(["127.0.0.1"], Clock(), life=life))
            server = FileServer(folder, certificate, clock, trouble=Trouble(**trouble))  # type: ignore[arg-type]
            return stack.enter_context(server.serving())

        def downloads(*, trust: Path | None = trusted, **options: object) -> Downloads:
            source = HttpsSource(trust)
            stack.callback(source.close)
            http = HttpSource(warnings.append, trust)
            stack.callback(http.close)
            return Downloads(tmp_path / "staging", {"https": source, "http": http}, clock, **options)  # type: ignore[arg-type]

        yield Place(folder, tmp_path / "staging", authority, trusted, clock, serve, downloads, warnings)
