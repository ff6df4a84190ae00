"""How a download fails."""

from __future__ import annotations

from schemas.error_codes import ErrorCode


class DownloadError(Exception):
    """A file that cannot be had: APPERRMET004 for a wrong checksum, GENERR006 for all else."""

    def __init__(self, code: ErrorCode, description: str) -> None:
        super().__init__(description)
        self.code = code


class DownloadInterruptedError(Exception):
    """The network or the server failed for the moment: what came is kept, and the rest asked for again."""


class FileChangedError(DownloadInterruptedError):
    """What has come is of another state of the file: it begins anew."""
