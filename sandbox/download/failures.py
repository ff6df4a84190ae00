"""The errors of downloads."""

from __future__ import annotations

from schemas.rdss.error_codes import ErrorCode


class DownloadError(Exception):
    """A file cannot be fetched: APPERRMET004 for a wrong checksum, GENERR006 for any other reason."""

    def __init__(self, code: ErrorCode, description: str) -> None:
        super().__init__(description)
        self.code = code


class DownloadInterruptedError(Exception):
    """A temporary failure of network or server: the fetched part is kept and the rest is retried."""


class FileChangedError(DownloadInterruptedError):
    """The file changed on the server, so the fetched part is dropped."""
