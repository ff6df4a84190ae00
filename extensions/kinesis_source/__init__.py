"""A ``kinesis`` data source for PySpark 4.2+: streaming and batch, in Python, without a jar or a lease table.

``spark.dataSource.register(KinesisSource)``, then ``spark.readStream.format("kinesis")`` or
``spark.read.format("kinesis")``. The package imports nothing of the project that it came with; it needs
pyspark, pyarrow, botocore, urllib3 and msgspec, on the driver and on every executor.

An offset is a map ``{shard id: position}``. A position is a sequence number (read behind it),
``TRIM_HORIZON``, ``AT_TIMESTAMP <seconds>`` or ``SHARD_END``. A shard enters the map when every parent of
it has ended, so a child is never read in a batch before its parents are done; an ended parent leaves when
all its children are in.

Kinesis has no call for "where is the end now": the driver walks each shard to fix the end of a batch and
decodes nothing but sequence numbers; executors then read exactly that range. A batch that is run again after
a crash therefore holds the same records, with nothing kept beside Spark's own checkpoint.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .options import OPTION_NAMES
    from .range_source import FORMAT, RANGES, SOURCES, KinesisRangeSource, reading
    from .restarts import begin_again, has_lost_python
    from .source import COLUMNS, KinesisSource
    from .source_errors import DataLossError, KinesisSourceError, ServiceError

_HOME_OF = {
    **dict.fromkeys(("DataLossError", "KinesisSourceError", "ServiceError"), "source_errors"),
    "OPTION_NAMES": "options",
    **dict.fromkeys(("FORMAT", "RANGES", "SOURCES", "KinesisRangeSource", "reading"), "range_source"),
    **dict.fromkeys(("begin_again", "has_lost_python"), "restarts"),
    **dict.fromkeys(("COLUMNS", "KinesisSource"), "source"),
}

__all__ = [
    "COLUMNS",
    "FORMAT",
    "OPTION_NAMES",
    "RANGES",
    "SOURCES",
    "DataLossError",
    "KinesisRangeSource",
    "KinesisSource",
    "KinesisSourceError",
    "ServiceError",
    "begin_again",
    "has_lost_python",
    "reading",
]


def __getattr__(name: str) -> Any:
    # Spark is slow to import, and a look at what is installed must not wait for it.
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
