"""The certificate of the ports: that of the settings, or one of an authority of the sandbox's own."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from emulator.clock import Clock
from emulator.machine.port_tls import PortTls, TlsFilesError, load_tls
from emulator.machine.private_files import make_directory, touch
from emulator.settings.settings import Settings
from rdss_sandbox.admission import LOOPBACK
from rdss_sandbox.files.rewriting import rewriting
from rdss_sandbox.machine.trusted_authorities import BUNDLE

FOLDER: Final = "tls"
_AUTHORITY: Final = "authority.pem"
_KEY: Final = "authority-key.pem"
_HOST: Final = "host.pem"
_LIFE: Final = timedelta(days=397)
"""Of a host's certificate; it is issued at each start. Browsers refuse longer ones."""
_ANY: Final = ("0.0.0.0", "::")  # noqa: S104 -- compared with, not bound


def open_tls(settings: Settings, stack: ExitStack) -> PortTls | None:
    """The TLS of the settings, None where they have none.

    Its files go with ``stack`` where there is no data directory.
    Raises TlsFilesError, and OSError for a data directory that cannot be written.
    """
    hosts = (settings.host, *settings.allowed_hosts)
    if settings.tls_cert is not None and settings.tls_key is not None:
        return load_tls(settings.tls_cert, settings.tls_key, hosts, Clock())
    if settings.tls is None:
        return None
    if settings.data_dir is not None:
        folder = settings.data_dir.resolve() / FOLDER
    else:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="sandbox-tls-")))
    certificate = _issue(folder, list(dict.fromkeys((*LOOPBACK, *_list_names(settings)))))
    return load_tls(certificate, certificate, hosts, Clock(), {BUNDLE: str(folder / _AUTHORITY)})


def _issue(folder: Path, hosts: list[str]) -> Path:
    """Issue a certificate of the folder's authority, which is made where there is none; return its file."""
    from emulator.machine.certificate_authority import new_authority, read_authority

    make_directory(folder)
    trusted, key, issued = folder / _AUTHORITY, folder / _KEY, folder / _HOST
    if trusted.exists():
        try:
            authority = read_authority(trusted, key)
        except (OSError, ValueError) as error:
            raise TlsFilesError(
                f"the sandbox's own authority cannot be read ({error}): remove {folder}, and another "
                "is made; then clients must be told to trust that"
            ) from error
    else:
        authority = new_authority(Clock())
        authority.write_key(key)
        with rewriting(trusted, fsync=False) as draft:
            authority.write_certificate(draft)
    touch(issued).write_bytes(authority.issue(hosts, Clock(), life=_LIFE))
    return issued


def _list_names(settings: Settings) -> list[str]:
    """What clients may call the host by, beside loopback's names."""
    given = [name.lower() for name in settings.allowed_hosts if name.isascii()]
    if settings.host not in _ANY:
        return [settings.host, *given]
    name = socket.gethostname()
    found = [name]
    with suppress(OSError):
        found += [str(address[0]).partition("%")[0] for *_, address in socket.getaddrinfo(name, None)]
    return [*found, *given]
