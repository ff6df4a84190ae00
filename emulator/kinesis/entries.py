"""Records to put, and what became of them."""

from __future__ import annotations

import msgspec

from emulator.kinesis.errors import KinesisError
from emulator.kinesis.stream import Shard


class Entry(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A record to put; ``Data`` is valid base64."""

    Data: str
    PartitionKey: str | None = None
    ExplicitHashKey: str | None = None


class Written(msgspec.Struct):
    """What came of a call: an answer (JSON) for each entry, the shards written, and the last error."""

    answers: list[str]
    shards: list[Shard] = []
    failed: int = 0
    error: tuple[str, str] | None = None

    def fail(self, indexes: range | list[int], code: str, message: str) -> None:
        """Answer the entries at ``indexes`` with this error."""
        self.error = (code, message)
        self.failed += len(indexes)
        answer = msgspec.json.encode({"ErrorCode": code, "ErrorMessage": message}).decode()
        for i in indexes:
            self.answers[i] = answer

    def raise_first(self) -> None:
        """Raise the error of a write of one record, if there was one."""
        if self.error is not None:
            code, message = self.error
            raise KinesisError(code, message, 500 if code == "InternalFailure" else 400)

    def raise_when_none_is_stored(self) -> None:
        """Raise InternalFailure when every record of a write failed with it."""
        # An SDK repeats a call that failed with 500 by itself, and no single record.
        if self.error is not None and self.failed == len(self.answers) and "Internal" in self.error[0]:
            self.raise_first()
