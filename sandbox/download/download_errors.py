"""The errors of downloads."""

from __future__ import annotations


class DownloadError(Exception):
    """A file cannot be fetched: the system fails, below or elsewhere."""


class WrongChecksumError(DownloadError):
    """What was fetched is not what was said to be there."""


class DownloadInterruptedError(Exception):
    """A temporary failure of network or server: the fetched part is kept and the rest is retried."""


class FileChangedError(DownloadInterruptedError):
    """The file changed on the server, so the fetched part is dropped."""
