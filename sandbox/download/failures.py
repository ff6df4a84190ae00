"""How a download fails."""

from __future__ import annotations

from schemas.error_codes import ErrorCode


class DownloadError(Exception):
    """A file that cannot be had: APPERRMET004 for a wrong checksum, GENERR006 for all else."""

    def __init__(self, code: ErrorCode, description: str) -> None:
        super().__init__(description)
        self.code = code


class Interrupted(Exception):  # noqa: N818 -- named as what happened, which is no error yet
    """The network or the server failed for the moment: what came is kept, and the rest asked for again."""


class Changed(Interrupted):
    """What has come is of another state of the file: it begins anew."""
