"""The errors of the source; ``ServiceError.passing`` says whether a retry may help."""

from __future__ import annotations

_THROTTLED = {
    "ProvisionedThroughputExceededException", "LimitExceededException", "KMSThrottlingException",
    "ThrottlingException", "InternalFailure", "ServiceUnavailable", "InternalFailureException",
}  # fmt: skip


class KinesisSourceError(Exception):
    """The source cannot continue; the message names the option, shard or answer that is the reason."""


class DataLossError(KinesisSourceError):
    """Records that an offset promises are no longer there."""


class ServiceError(KinesisSourceError):
    """Kinesis refused a call: ``code`` is its error code, ``status`` the HTTP status (0 without answer)."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.status = code, status

    @property
    def expired(self) -> bool:
        """Whether the credentials were good once and are no longer."""
        return self.code in {"ExpiredTokenException", "ExpiredToken"}

    @property
    def passing(self) -> bool:
        """Whether a retry of the same request may succeed."""
        return self.code in _THROTTLED or self.status >= 500 or self.status == 0
