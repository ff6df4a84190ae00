"""What can go wrong in the source, and whether it passes."""

from __future__ import annotations

_THROTTLED = {
    "ProvisionedThroughputExceededException", "LimitExceededException", "KMSThrottlingException",
    "ThrottlingException", "InternalFailure", "ServiceUnavailable", "InternalFailureException",
}  # fmt: skip


class KinesisSourceError(Exception):
    """The source cannot go on; the message says which option, shard or answer is the reason."""


class DataLossError(KinesisSourceError):
    """Records that an offset promises are no longer there."""


class ServiceError(KinesisSourceError):
    """Kinesis refused: ``code`` is its error code, ``status`` the HTTP status (0 when no answer came)."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.status = code, status

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.code in _THROTTLED or self.status >= 500 or self.status == 0
