"""The errors of downloads."""

from __future__ import annotations

from schemas.contract import Code


class DownloadError(Exception):
    """A file cannot be fetched: ``code`` is that of a wrong checksum, or of a failure of the system."""

    def __init__(self, code: Code, description: str) -> None:
        super().__init__(description)
        self.code = code


class DownloadInterruptedError(Exception):
    """A temporary failure of network or server: the fetched part is kept and the rest is retried."""


class FileChangedError(DownloadInterruptedError):
    """The file changed on the server, so the fetched part is dropped."""
