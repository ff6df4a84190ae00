"""The Delta log of one table: which files are in it, and how files get in.

Files are written by Spark's Python workers, and a commit names them. It carries two application
transactions: the pipeline's id and ``OWNER``, both with the number of the batch. Delta refuses a second
commit with either of them that did not know the first, so no batch can come in twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from emulator.clock import Clock
from sandbox.pipeline.spark.failures import UsageError
from sandbox.pipeline.storage.schema import Table, delta_schema
from sandbox.pipeline.storage.table_storage import TableStorage

if TYPE_CHECKING:
    from deltalake import DeltaTable

OWNER: Final = "rdss-pipeline"
"""The application id under which a table tells its last batch, whichever pipeline wrote it."""
_SETTINGS = {
    # Readers of an old version have an hour; the log is for the last day, since a stream may commit every
    # second.
    "delta.deletedFileRetentionDuration": "interval 1 hours",
    "delta.logRetentionDuration": "interval 1 days",
}


class File(msgspec.Struct, frozen=True):
    """A Parquet file of a table; ``path`` is relative to the place.

    ``first`` and ``last`` are the bounds of the table's column of time in microseconds since the epoch;
    they are None for a file without any time. ``undated`` rows have none. ``batches`` are the first and the
    last batch of its rows.
    """

    table: str
    path: str
    rows: int
    bytes: int
    first: int | None = None
    last: int | None = None
    undated: int = 0
    batches: tuple[int, int] = (-1, -1)

    @property
    def name(self) -> str:
        """The path within the table."""
        return self.path.partition("/")[2]


class SchemaMismatchError(UsageError):
    """A table has a column with another type than the pipeline's."""


@dataclass
class TableLog:
    """The log of the ``table`` of a name in a place. It sees what was there when it was last refreshed."""

    place: TableStorage
    name: str
    table: Table

    def __post_init__(self) -> None:
        self._listed: tuple[int, list[File]] = (-1, [])
        self._opened: DeltaTable | None = None

    @property
    def delta(self) -> DeltaTable:
        """The table as delta-rs has it. Raises TableNotFoundError of delta-rs when there is none."""
        from deltalake import DeltaTable

        if self._opened is None:
            self._opened = DeltaTable(self.place.table_uri(self.name), storage_options=self.place.options)
        return self._opened

    @property
    def exists(self) -> bool:
        """Whether there is a table."""
        from deltalake.exceptions import TableNotFoundError

        # is_deltatable() would stop all threads of the process, and a sandbox in it could not answer.
        try:
            return self.delta is not None
        except TableNotFoundError:
            return False

    def prepare(self) -> None:
        """Create the table if it is missing; add columns that it lacks. Raises SchemaMismatchError."""
        from deltalake import DeltaTable

        schema = delta_schema(self.table)
        if not self.exists:
            uri, row = self.place.table_uri(self.name), self.table.row
            if not self.place.remote:
                self.place.filesystem.create_dir(uri, recursive=True)
            # Readers drop files by these columns' statistics, and would by those of columns that have none.
            settings = _SETTINGS | {"delta.dataSkippingStatsColumns": ",".join(self._measured)}
            options = self.place.options
            self._opened = DeltaTable.create(
                uri, schema, "ignore", description=row, configuration=settings, storage_options=options
            )
        present = {field.name: field for field in self.delta.schema().fields}
        for field in schema.fields:
            there = present.get(field.name)
            if there is not None and there.type != field.type:
                raise SchemaMismatchError(
                    f"column {field.name} of table {self.name} in {self.place.uri} is {there.type}, "
                    f"but must be {field.type}: name another place with --to"
                )
        if lacking := [field for field in schema.fields if field.name not in present]:
            self.delta.alter.add_columns(lacking)
            self.refresh()

    @property
    def _measured(self) -> tuple[str, ...]:
        """The columns with statistics."""
        return (self.table.time, "batch") if self.table.time else self.table.key

    def refresh(self) -> None:
        """See what others have committed."""
        self.delta.update_incremental()

    def last_batch(self, application: str = OWNER) -> int | None:
        """The last batch that an application committed; None when it has committed none."""
        number: int | None = self.delta.transaction_version(application)
        return number

    def files(self) -> list[File]:
        import pyarrow as pa

        delta = self.delta
        if self._listed[0] != (version := delta.version()):
            rows = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
            self._listed = version, [self._describe(row) for row in rows]
        return self._listed[1]

    def _describe(self, row: Mapping[str, Any]) -> File:
        time = self.table.time
        first, last = (_micros(row.get(f"{end}.{time}")) for end in ("min", "max"))
        batches, undated = (row.get("min.batch", -1), row.get("max.batch", -1)), row.get(f"null_count.{time}")
        path, rows, size = f"{self.name}/{row['path']}", row["num_records"], row["size_bytes"]
        return File(self.name, path, rows, size, first, last, undated or 0, batches)

    def commit(
        self,
        files: Sequence[File],
        batch: int,
        run: str,
        *,
        whole: bool = False,
        marks: Mapping[str, int] | None = None,
        notes: Mapping[str, str] | None = None,
    ) -> None:
        """Add the files of a batch; do nothing when the batch is in the table already.

        ``whole`` replaces all other files. ``marks`` are further application transactions, ``notes`` go
        into the commit as they are.
        """
        from deltalake import CommitProperties, Transaction
        from deltalake.transaction import AddAction

        before = self.last_batch(run)
        if before is not None and before >= batch:
            return
        now = round(Clock().time() * 1000)
        versions = {run: batch, OWNER: batch} | dict(marks or {})
        properties = CommitProperties(
            custom_metadata=dict(notes or {}),
            app_transactions=[Transaction(name, number, now) for name, number in versions.items()],
        )
        self.delta.create_write_transaction(
            [AddAction(file.name, file.bytes, {}, now, True, self._statistics(file)) for file in files],
            "overwrite" if whole else "append",
            self.delta.schema(),
            commit_properties=properties,
        )
        self.refresh()

    def _statistics(self, file: File) -> str:
        time = self.table.time
        bounds: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        for at, bound, batch in zip(bounds, (file.first, file.last), file.batches, strict=True):
            if time is not None and bound is not None:
                at[time] = _text(bound)
            if self.table.grows:
                at["batch"] = batch
        nulls = {time: file.undated, "batch": 0} if time is not None else {}
        return json.dumps(
            {"numRecords": file.rows, "minValues": bounds[0], "maxValues": bounds[1], "nullCount": nulls}
        )

    def note(self, name: str) -> str | None:
        """What the last commit that has this note says; None when the log no longer has it."""
        for version in range(self.delta.version(), -1, -1):
            raw = self.place.read(f"{self.name}/_delta_log/{version:020d}.json")
            if raw is None:
                return None
            for line in raw.splitlines():
                value = json.loads(line).get("commitInfo", {}).get(name)
                if value is not None:
                    return str(value)
        return None


def _micros(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1_000_000)


def _text(micros: int) -> str:
    seconds, rest = divmod(micros, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:06d}Z"
