"""What reads streams with Spark: an extension's, since the audit log's bucket can be read without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from rdss_sandbox.extension import import_place
from rdss_sandbox.installed_extensions import list_extensions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import DataSource

_Ended = TypeVar("_Ended")


class StreamSource(Protocol):
    """What a module that is named as ``Extension.spark_source`` has.

    ``SOURCES`` are Spark's data sources. That with the name ``FORMAT`` gives batches of ranges of records,
    which what ``reading`` returns turns into records, on the executors.
    """

    SOURCES: tuple[type[DataSource], ...]
    FORMAT: str

    def reading(
        self, options: Mapping[str, str]
    ) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]: ...

    def has_lost_python(self, error: Exception) -> bool:
        """Whether this is Spark's error for a Python process that died or did not start in time."""

    def begin_again(
        self, job: Callable[[], _Ended], *, lost: Callable[[Exception], bool], tell: Callable[[], None]
    ) -> _Ended:
        """Call ``job``, and again where it raises an error that is ``lost``."""


def find_stream_source() -> StreamSource | None:
    """The source of the extension that has one; None where there is none."""
    places = [extension.spark_source for extension in list_extensions() if extension.spark_source]
    return cast("StreamSource", import_place(places[0])) if places else None
