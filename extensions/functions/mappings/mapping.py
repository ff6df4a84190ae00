"""An event source mapping: its settings, state, and how far it has read. The fields have AWS's meanings."""

from __future__ import annotations

from typing import Final

import msgspec

from extensions.functions.engine.function import Place

FOREVER: Final = -1
"""No limit of retries, or of the age of a record."""
PARTIAL: Final = "ReportBatchItemFailures"


class Position(msgspec.Struct, frozen=True):
    """How far a shard was read: its last record that is done with; ``ended`` with nothing more to come.

    ``window`` is when the open tumbling window begins, in seconds since the epoch, and ``state`` its state.
    """

    after: str | None = None
    ended: bool = False
    window: float | None = None
    state: str = "{}"


class Mapping(msgspec.Struct, kw_only=True):
    """A mapping from ``source``, an ARN, to a function's version. Times are seconds.

    ``start`` is a place in the stream as AWS calls it, ``start_time`` the time of AT_TIMESTAMP.
    """

    uuid: str
    account: str
    region: str
    source: str
    function: str
    qualifier: str = ""
    enabled: bool = True
    state: str = "Creating"
    reason: str = "User action"
    result: str = "No records processed"
    modified: float
    batch_size: int
    batching_seconds: int = 0
    filters: tuple[str, ...] = ()
    response_types: tuple[str, ...] = ()
    start: str = ""
    start_time: float | None = None
    lanes: int = 1
    retries: int = FOREVER
    record_age: int = FOREVER
    bisect: bool = False
    on_failure: str = ""
    window_seconds: int = 0
    concurrency: int | None = None
    tags: dict[str, str] = {}

    @property
    def place(self) -> Place:
        """The function that it invokes."""
        return Place(self.account, self.region, self.function)

    @property
    def function_arn(self) -> str:
        return f"{self.place.arn}:{self.qualifier}" if self.qualifier else self.place.arn

    @property
    def arn(self) -> str:
        return f"arn:aws:lambda:{self.region}:{self.account}:event-source-mapping:{self.uuid}"

    @property
    def service(self) -> str:
        """The service of its source: ``kinesis`` or ``sqs``."""
        return self.source.split(":")[2]

    @property
    def source_name(self) -> str:
        """The name of the stream or the queue."""
        resource = self.source.split(":", 5)[5]
        return resource.split("/")[1] if self.service == "kinesis" else resource
