"""The Delta tables, without Spark: commits, deaths between them, what other tools read, housekeeping."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from botocore.awsrequest import AWSResponse
from deltalake import DeltaTable, Field

from rdss_sandbox.tables import open_table, read_table
from sandbox.cli.tables.pipeline_options import GivenEndpoint
from sandbox.pipeline.reports.sql_query import ask
from sandbox.pipeline.spark.failures import UnavailableError
from sandbox.pipeline.storage.conditional_puts import UnsafeStoreError
from sandbox.pipeline.storage.files import BatchAttempt, Writers, WrongColumnError, write_here
from sandbox.pipeline.storage.optimization import optimize_tables
from sandbox.pipeline.storage.schema import TABLES, arrow_schema, list_columns
from sandbox.pipeline.storage.table_log import SchemaMismatchError, TableLog
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.storage.table_store import AnotherRunError, Commit, OldFormatError, Tables
from tests.sandbox.pipeline.workload import Endpoint

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
LOGS = tuple(name for name, table in TABLES.items() if table.grows)


def _prepared(place: Path | TableStorage) -> Tables:
    tables = Tables(place if isinstance(place, TableStorage) else TableStorage.at(place))
    tables.prepare()
    return tables


def _rows(table: str, batch: int, count: int = 3) -> pa.Table:
    rows = [
        {"stream": "input", "identity": f"message {batch}-{at}", "arrived": NOW, "sequence_number": str(at)}
        for at in range(count)
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(table))


def _batch(tables: Tables, number: int, token: str = "t", oldest: float | None = None) -> Commit:
    """Write the files of a batch of three messages."""
    attempt = BatchAttempt(tables.place, number, token)
    files = [
        file
        for table in ("arrivals", "messages")
        for file in write_here(_rows(table, number), table, attempt)
    ]
    return Commit(number, "run", oldest, tuple(files))


def test_all_nine_tables_are_there_before_the_first_batch_with_every_column(tmp_path: Path) -> None:
    """Tables without rows have a log, a schema and a comment for each column, which any Delta reader sees."""
    _prepared(tmp_path)
    assert len(TABLES) == 9
    for name, table in TABLES.items():
        fields = DeltaTable(str(tmp_path / name)).schema().fields
        assert [field.name for field in fields] == [column.name for column in table.stored]
        assert all(field.metadata["comment"] for field in fields)
        empty = read_table(tmp_path, name)
        assert (empty.num_rows, empty.schema.equals(arrow_schema(list_columns(table.stored)))) == (0, True)


def test_a_batch_that_is_committed_again_changes_nothing(tmp_path: Path) -> None:
    """Every table takes a batch once, whoever commits it again and with whichever files."""
    tables = _prepared(tmp_path)
    assert not tables.holds(0, "run")
    tables.commit(_batch(tables, 0, oldest=12.5))
    versions = {name: tables.log(name).delta.version() for name in TABLES}
    tables.commit(_batch(tables, 0, token="again"))
    again = Tables(tables.place)
    again.commit(_batch(again, 0, token="other"))
    assert again.holds(0, "run")
    assert {name: again.log(name).delta.version() for name in TABLES} == versions
    assert (again.rows()["messages"], again.last_batch, again.oldest_open) == (3, 0, 12.5)
    with pytest.raises(AnotherRunError, match="another checkpoint"):
        again.holds(1, "stranger")


def test_two_drivers_with_one_batch_cannot_both_commit_it(tmp_path: Path) -> None:
    """A driver that has not seen the other's commit is refused by Delta, not added."""
    from deltalake.exceptions import CommitFailedError

    one = _prepared(tmp_path)
    other = Tables(one.place)
    assert not other.holds(0, "run")
    one.commit(_batch(one, 0))
    with pytest.raises(CommitFailedError):
        other.commit(_batch(other, 0, token="late"))
    assert Tables(one.place).rows()["messages"] == 3


@pytest.mark.parametrize("dies_at", LOGS[1:])
def test_a_run_that_dies_between_the_commits_of_two_tables_is_finished_by_the_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dies_at: str
) -> None:
    """Behind the commit of arrivals a batch is decided: the next run adds those files, and no others."""
    tables = _prepared(tmp_path)
    tables.commit(_batch(tables, 0))
    commit, files = TableLog.commit, _batch(tables, 1)

    def dying(log: TableLog, *given: Any, **named: Any) -> None:
        if log.name == dies_at:
            raise KeyboardInterrupt
        commit(log, *given, **named)

    monkeypatch.setattr(TableLog, "commit", dying)
    with pytest.raises(KeyboardInterrupt):
        tables.commit(files)
    monkeypatch.undo()
    found = Tables(tables.place)
    assert found.log(dies_at).last_batch() == 0
    # Objects are published up to a batch that is whole: what is missing yet would never be looked at.
    assert (found.last_batch, found.whole_batch) == (1, 0)
    after = _prepared(tmp_path)
    assert after.holds(1, "run")
    assert after.whole_batch == 1
    assert {after.log(name).last_batch() for name in LOGS} == {1}
    assert {file.path for file in files.of("messages")} <= {file.path for file in after.files("messages")}
    assert (after.rows()["arrivals"], after.rows()["messages"]) == (6, 6)


def test_files_that_no_commit_names_go_with_the_next_run_and_are_never_read(tmp_path: Path) -> None:
    """A run that died before the first commit of a batch left files; readers do not see them."""
    tables = _prepared(tmp_path)
    tables.commit(_batch(tables, 0))
    left = [tmp_path / file.path for file in _batch(tables, 1, token="dead").files]
    (half := tmp_path / "parts" / "batch-00000000-part-00000-t.parquet.77.new").write_bytes(b"half")
    assert read_table(tmp_path, "messages").num_rows == 3
    _prepared(tmp_path)
    assert not any(path.exists() for path in (*left, half))
    assert all((tmp_path / file.path).exists() for table in TABLES for file in tables.files(table))


def test_a_column_of_another_type_is_never_written(tmp_path: Path) -> None:
    """A stage's mistake is an error that names the column, before a file is in a table."""
    tables = _prepared(tmp_path)
    wrong = _rows("messages", 0).drop_columns("size").append_column("size", pa.array(["1"] * 3))
    with pytest.raises(WrongColumnError, match=r"messages\.size would be string, but is int32"):
        Writers(BatchAttempt(tables.place, 0, "t"), 0).add("messages", wrong.to_batches()[0])


def test_a_table_gets_the_columns_it_lacks_and_keeps_its_rows(tmp_path: Path) -> None:
    """Tables from before a column was added are used on: old rows have null there."""
    tables = _prepared(tmp_path)
    fields = [f for f in DeltaTable(str(tmp_path / "messages")).schema().fields if f.name != "title"]
    for log in (tmp_path / "messages" / "_delta_log").iterdir():
        log.unlink()
    from deltalake import Schema

    DeltaTable.create(str(tmp_path / "messages"), Schema(fields))
    old = _rows("messages", 0).drop_columns("title")
    tables = Tables(tables.place)
    from pyarrow import parquet

    parquet.write_table(
        old.append_column("batch", pa.array([0] * 3)),
        tmp_path / "messages" / "batch-00000000-part-0-t.parquet",
    )
    files = [file for file in _batch(tables, 0).files if file.table == "arrivals"]
    size = (tmp_path / "messages" / "batch-00000000-part-0-t.parquet").stat().st_size
    from sandbox.pipeline.storage.table_log import File

    files.append(File("messages", "messages/batch-00000000-part-0-t.parquet", 3, size, batches=(0, 0)))
    tables.commit(Commit(0, "run", None, tuple(files)))
    after = _prepared(tmp_path)
    after.commit(_batch(after, 1))
    titles = read_table(tmp_path, "messages")["title"]
    assert (len(titles), titles.null_count) == (6, 6)
    with duckdb.connect() as database:
        database.register("messages", open_table(tmp_path, "messages").to_pyarrow_dataset())
        assert database.sql("SELECT count(*), count(title) FROM messages").fetchall() == [(6, 0)]


def test_a_column_with_another_type_stops_a_run_in_one_line(tmp_path: Path) -> None:
    """Nothing is written to tables that are not the pipeline's."""
    DeltaTable.create(str(tmp_path / "messages"), delta_schema_of(("stream", "long")))
    with pytest.raises(SchemaMismatchError, match=r"column stream of table messages in .* must be"):
        _prepared(tmp_path)


def delta_schema_of(*columns: tuple[str, str]) -> Any:
    from deltalake import Schema

    return Schema([Field(name, kind) for name, kind in columns])


def test_tables_of_the_format_before_say_what_to_do(tmp_path: Path) -> None:
    """One line, and nothing is touched."""
    (tmp_path / "_commits").mkdir()
    (tmp_path / "_commits" / "00000000.json").write_text("{}")
    with pytest.raises(OldFormatError, match="older format: remove them, or name another place"):
        Tables(TableStorage.at(tmp_path))


def test_small_files_are_joined_beside_a_run_and_beside_readers(tmp_path: Path) -> None:
    """Rows stay, files become few; who began to read goes on; the run goes on; old files go when told."""
    tables = _prepared(tmp_path)
    for number in range(4):
        tables.commit(_batch(tables, number))
    reader = open_table(tmp_path, "messages")
    done = optimize_tables(Tables(tables.place), keep_hours=1)
    assert (done["messages"].before, done["messages"].now, done["messages"].removed) == (4, 1, 0)
    assert reader.to_pyarrow_table().num_rows == 12, "the reader's version is whole"
    tables.refresh()
    assert [file.batches for file in tables.files("messages", after=2)] == [(0, 3)]
    tables.commit(_batch(tables, 4))
    assert sorted(read_table(tmp_path, "messages")["batch"].to_pylist()) == sorted([*range(5)] * 3)
    assert optimize_tables(Tables(tables.place), keep_hours=0)["messages"].removed == 6
    assert read_table(tmp_path, "messages").num_rows == 15
    assert _prepared(tmp_path).last_batch == 4


def test_a_table_that_a_contract_has_since_is_added(tmp_path: Path) -> None:
    """Also when the log of arrivals no longer tells the files of the last batch; the run goes on."""
    place = TableStorage.at(tmp_path)
    earlier = Tables(place, {name: table for name, table in TABLES.items() if name != "queued"})
    earlier.prepare()
    for number in range(3):
        earlier.commit(_batch(earlier, number))
    arrivals = earlier.log("arrivals").delta
    arrivals.alter.set_table_properties({"delta.appendOnly": "false"})
    arrivals.create_checkpoint()
    for old in sorted((tmp_path / "arrivals" / "_delta_log").glob("*.json"))[:-1]:
        old.unlink()
    for number in (3, 4):
        tables = _prepared(place)
        assert (tables.last_batch, tables.rows()["queued"]) == (number - 1, 0)
        tables.commit(_batch(tables, number))
    assert tables.log("queued").last_batch() == 4


def test_a_window_of_arrivals_is_the_same_batches_in_every_table(tmp_path: Path) -> None:
    """What is looked for behind a time is found by arrivals, also where a table's own times are others."""
    tables = _prepared(tmp_path)
    tables.commit(_batch(tables, 0))
    sequence = pa.Table.from_pylist([{"sequence": "a"}], schema=arrow_schema("sequences"))
    attempt = BatchAttempt(tables.place, 1, "t")
    late = NOW.replace(hour=10)
    rows = _rows("arrivals", 1).drop_columns("arrived")
    rows = rows.append_column("arrived", pa.array([late] * 3, pa.timestamp("us", "UTC")))
    files = [*write_here(rows, "arrivals", attempt), *write_here(sequence, "sequences", attempt)]
    tables.commit(Commit(1, "run", None, tuple(files)))
    for name in ("arrivals", "messages", "sequences"):
        assert all(file.batches == (1, 1) for file in tables.files(name, since=late.timestamp() - 60))
    assert len(tables.files("sequences", since=late.timestamp() - 60)) == 1
    assert tables.files("sequences", since=late.timestamp() + 60) == []
    assert tables.span == (NOW.timestamp(), late.timestamp())


def test_tables_in_a_bucket_take_a_batch_once(endpoint: Endpoint) -> None:
    """On S3 a commit is a conditional put: the second of two drivers is refused, a repeat is no-op."""
    endpoint.client("s3").create_bucket(Bucket="delta")
    place = TableStorage.at("s3://delta/tables", endpoint.url)
    tables = _prepared(place)
    other = Tables(place)
    other.refresh()
    tables.commit(_batch(tables, 0))
    from deltalake.exceptions import CommitFailedError

    with pytest.raises(CommitFailedError):
        other.commit(_batch(other, 0, token="late"))
    tables.commit(_batch(tables, 0, token="again"))
    after = _prepared(place)
    assert (after.rows()["messages"], after.last_batch) == (3, 0)
    assert read_table("s3://delta/tables", "messages", endpoint_url=endpoint.url).num_rows == 3


@pytest.mark.parametrize("store", ["forgets the condition", "refuses the condition"])
def test_a_store_without_conditional_puts_is_refused_before_anything_is_written(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    """There two runs could replace each other's commits, and nobody would notice."""
    s3 = endpoint.client("s3")
    s3.create_bucket(Bucket="careless")
    make = TableStorage.client

    def careless(place: TableStorage) -> Any:
        def change(params: dict[str, Any], **_: Any) -> None:
            params["headers"].pop("If-None-Match", None)

        def refuse(**_: Any) -> Any:
            body = b"<Error><Code>NotImplemented</Code><Message>A header is not implemented</Message></Error>"
            return AWSResponse(endpoint.url, 501, {}, _Raw(body))

        client = make(place)
        if store == "forgets the condition":
            client.meta.events.register("before-call.s3.PutObject", change)
        else:
            client.meta.events.register("before-send.s3.PutObject", refuse)
        return client

    monkeypatch.setattr(TableStorage, "client", careless)
    with pytest.raises(UnsafeStoreError, match="s3://careless/t is in a store without conditional puts"):
        _prepared(TableStorage.at("s3://careless/t", endpoint.url))
    assert "Contents" not in s3.list_objects_v2(Bucket="careless")


class _Raw(io.BytesIO):
    """The body of an answer, as botocore reads it."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


def test_a_bucket_that_is_not_there_is_told_in_one_line(endpoint: Endpoint) -> None:
    """The store's own words, and the place."""
    with pytest.raises(UnavailableError, match="s3://nowhere/t cannot be written: NoSuchBucket"):
        _prepared(TableStorage.at("s3://nowhere/t", endpoint.url))


def test_the_usual_settings_of_aws_are_enough(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on AWS no endpoint and no key is given: they come from the environment and a profile's file."""
    s3 = endpoint.client("s3")
    s3.create_bucket(Bucket="usual")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    profile = "[tables]\naws_access_key_id = of-the-profile\naws_secret_access_key = secret\n"
    (tmp_path / "credentials").write_text(profile)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_PROFILE", "tables")
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint.url)
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    tables = _prepared(TableStorage.at("s3://usual/tables"))
    assert (tables.place.options["AWS_ACCESS_KEY_ID"], tables.place.region) == ("of-the-profile", "eu-west-2")
    tables.commit(_batch(tables, 0))
    assert read_table("s3://usual/tables", "messages").num_rows == 3
    keys = {found["Key"] for found in s3.list_objects_v2(Bucket="usual")["Contents"]}
    assert "tables/messages/_delta_log/00000000000000000001.json" in keys
    assert not [key for key in keys if "conditional-put" in key]


def test_aws_itself_is_meant_whatever_endpoint_the_environment_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """``--endpoint aws`` in a shell that was pointed at a sandbox goes to AWS, with every library."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_KINESIS"):
        monkeypatch.setenv(name, "http://127.0.0.1:4566")
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    assert GivenEndpoint("aws", None)() == (None, "eu-west-2")
    place = TableStorage.at("s3://bucket/tables", *GivenEndpoint("aws", None)())
    assert place.options == {"AWS_REGION": "eu-west-2", "conditional_put": "etag"}
    assert place.client().meta.endpoint_url == "https://s3.eu-west-2.amazonaws.com"


def test_a_condition_finds_the_same_rows_in_every_column_before_and_after_optimize(tmp_path: Path) -> None:
    """Statistics let a reader drop files: never one that has such rows, be they null or not."""
    tables = _prepared(tmp_path)
    rows = [{"total": None, "arrived": NOW}, {"total": 3, "arrived": None}, {"total": 3, "stream": "input"}]
    for number in range(2):
        table = pa.Table.from_pylist(rows, schema=arrow_schema("rejects"))
        files = write_here(table, "rejects", BatchAttempt(tables.place, number, "t"))
        tables.commit(Commit(number, "run", None, tuple(files)))
    expected = {
        "total IS NULL": 2, "total = 3": 4, "stream IS NULL": 4, "stream = 'input'": 2, "arrived IS NULL": 4,
        "arrived IS NOT NULL": 2, "code = 'GENERR001'": 0, "batch = 1": 3,
    }  # fmt: skip
    for _ in range(2):
        found = {
            rule: ask(Tables(tables.place), f"SELECT count(*) AS n FROM rejects WHERE {rule}")["n"][0].as_py()
            for rule in expected
        }
        assert found == expected
        optimize_tables(Tables(tables.place), keep_hours=1)
