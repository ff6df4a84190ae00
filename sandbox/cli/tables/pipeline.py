"""``sandbox pipeline``: turn streams and buckets into tables with Spark, and query these."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdss_sandbox.questions.deadline import Deadline
from sandbox.cli.options.contract import as_published_option
from sandbox.cli.options.stopping import Stopping
from sandbox.cli.options.waiting import timeout_option
from sandbox.cli.output.exit_codes import Exit
from sandbox.cli.output.printing import print_json, print_rows, print_table
from sandbox.cli.output.query_answers import FORMATS, print_answer
from sandbox.cli.tables.pipeline_options import (
    GivenEndpoint,
    GivenSession,
    choose,
    place_option,
    sources_options,
    spark_options,
    table_options,
    tables_at,
)
from sandbox.visible_output import progress_bar

if TYPE_CHECKING:
    import pyarrow as pa

    from sandbox.pipeline.pipeline_run import Job
    from sandbox.pipeline.reports.impact import FaultInjection


@click.group("pipeline")
def pipeline() -> None:
    """Turn streams and buckets into tables with Spark."""


@pipeline.command()
@click.option(
    "--from",
    "source",
    type=click.Choice(["streams", "audit"]),
    default="streams",
    help="Read the shards, or the audit bucket.",
)
@place_option("--to")
@click.option(
    "--once/--follow",
    "once",
    default=True,
    help="Read what is there and end, or go on reading.",
)
@sources_options
@click.option(
    "--starting",
    default="TRIM_HORIZON",
    metavar="POSITION",
    help="Where the first run begins to read.",
)
@click.option("--checkpoint", metavar="DIR", help="The folder for offsets; needed when the tables go to S3.")
@timeout_option("With --follow: stop after this long: 30s, 5m, 2h.")
@click.option(
    "--batch", default=100_000, type=click.IntRange(1), metavar="N", help="The most records in a batch."
)
@as_published_option
@spark_options
@table_options
def run(
    *,
    once: bool,
    timeout: float | None,
    session: GivenSession,
    service: GivenEndpoint,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Read streams or the audit log and write tables, exactly once.

    A run that was killed at any point is started again with the same command. --follow goes on until Ctrl-C
    or the timeout.
    """
    if once and timeout is not None:
        raise click.UsageError("--timeout is for --follow; a run of what is there ends by itself")
    from sandbox.pipeline import pipeline_run

    session.require()
    stopping = Stopping(Deadline(timeout))
    read = pipeline_run.once if once else pipeline_run.follow
    with progress_bar() as tell, stopping.noting_signals():
        job = _job(service, **chosen)
        tell("starting Spark", 0.0)
        spark = session()
        if stopping.signals:
            raise KeyboardInterrupt
        rows = read(spark, job, stopped=lambda: stopping.wanted, progress=tell).rows()
    if once and stopping.signals:
        raise KeyboardInterrupt
    print_rows(rows, ("table", "rows"), rows.items(), as_json=as_json)


def _job(
    service: GivenEndpoint,
    *,
    source: str,
    place: str,
    streams: str | None,
    bucket: str,
    starting: str,
    checkpoint: str | None,
    batch: int,
    as_published: bool,
) -> Job:
    from sandbox.pipeline.pipeline_run import Job
    from sandbox.pipeline.sources.endpoint_check import require_endpoint
    from sandbox.pipeline.stages.batch import Rules
    from sandbox.pipeline.storage.table_storage import TableStorage
    from schemas.bound import choose_contract

    url, region = service()
    require_endpoint(url)
    read = () if source == "audit" else choose(streams, url, region)
    return Job(
        TableStorage.at(place, url, region),
        endpoint_url=url,
        source="audit" if source == "audit" else "streams",
        streams=read,
        bucket=bucket,
        region=region,
        starting_position=starting,
        records_per_trigger=batch,
        checkpoint=checkpoint,
        rules=Rules(contract=choose_contract(as_published=as_published)),
    )


@pipeline.command()
@place_option("--at")
@click.option(
    "--html",
    default=Path("runs/pipeline-report.html"),
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where the page is written.",
)
@click.option(
    "--events",
    metavar="FILE|running",
    help="A run's events.ndjson, or the running sandbox's own: shows what the faults did.",
)
@table_options
def report(
    *,
    place: str,
    html: Path,
    events: str | None,
    service: GivenEndpoint,
    as_json: bool,
) -> None:
    """Summarise the tables: a page with charts, and a summary here."""
    from sandbox.pipeline.reports.pipeline_report import build_report
    from sandbox.pipeline.reports.report_page import render_page

    tables, injected = tables_at(place, service), _injected(events, service)
    found = build_report(tables, injected)
    html.parent.mkdir(parents=True, exist_ok=True)
    html.write_text(render_page(found), encoding="utf-8")
    if as_json:
        print_json(found)
        return
    print_table(("table", "rows"), found.rows.items())
    if found.rejects:
        click.echo()
        codes = [(code, count, found.queued.get(code, 0)) for code, count in found.rejects.items()]
        print_table(("code", "rejected", "queued"), codes)
    if found.impact:
        click.echo()
        struck = [(i.type, i.injected, i.messages, i.duplicates, i.rejects, i.p50) for i in found.impact]
        print_table(("fault", "injected", "messages struck", "duplicates", "rejects", "p50 ms"), struck)
    click.echo(f"\npage: {html}")


def _injected(events: str | None, service: GivenEndpoint) -> list[FaultInjection]:
    from sandbox.pipeline.reports.impact import fetch_injections, read_injections

    if events is None:
        return []
    if events != "running":
        return read_injections(Path(events))
    with service.client() as client:
        return fetch_injections(client)


@pipeline.command()
@click.argument("sql", required=False)
@place_option("--at")
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    help="Rows to give at most.  [default: 100 in a table, all otherwise]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    help="How rows are given.",
)
@click.option(
    "--engine",
    type=click.Choice(["duckdb", "spark"]),
    default="duckdb",
    help="What runs the SQL, each in its dialect; the options of Spark are for spark.",
)
@spark_options
@table_options
def query(
    *,
    sql: str | None,
    place: str,
    limit: int | None,
    form: str,
    engine: str,
    session: GivenSession,
    service: GivenEndpoint,
    as_json: bool,
) -> None:
    """Query the tables with SQL; without SQL, answer statements at a prompt.

    The tables are messages, parts, sequences, objects, rejects, queued, duplicates, arrivals and figures.
    """
    form = "json" if as_json else form
    most = 100 if limit is None and form == "table" else limit
    from sandbox.cli.tables.query_prompt import answer_statements
    from sandbox.pipeline.reports.sql_query import ask, ask_spark

    tables = tables_at(place, service)

    def answer(statement: str) -> pa.Table:
        if engine == "spark":
            return ask_spark(session(), tables, statement, most)
        return ask(tables, statement, most)

    if sql is None:
        answer_statements(tables, answer, lambda found: print_answer(found, form))
    else:
        print_answer(answer(sql), form)


@pipeline.command()
@place_option("--at")
@click.option(
    "--keep",
    default=1,
    type=click.IntRange(1),
    metavar="HOURS",
    help="How long files of older versions stay, for those who read them.",
)
@table_options
def optimize(*, place: str, keep: int, service: GivenEndpoint, as_json: bool) -> None:
    """Join small files of the tables, and remove files that only older versions have.

    It may run beside pipeline run and beside readers. A reader that began before it has the time of --keep
    to finish.
    """
    from sandbox.pipeline.storage.optimization import optimize_tables

    done = optimize_tables(tables_at(place, service), keep)
    rows = [(name, found.before, found.now, found.removed) for name, found in done.items()]
    print_rows(done, ("table", "files before", "files now", "removed"), rows, as_json=as_json)


@pipeline.command()
@place_option("--at")
@sources_options
@click.option(
    "--repository",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A receiver's repository to compare with as well.",
)
@spark_options
@table_options
def reconcile(
    *,
    place: str,
    streams: str | None,
    bucket: str,
    repository: Path | None,
    session: GivenSession,
    service: GivenEndpoint,
    as_json: bool,
) -> int:
    """Compare what was dispatched with the audit log, the tables and a receiver.

    Exit code 1: something is missing, or there is something that no stream knows.
    """
    from sandbox.pipeline.reports.reconciling import ReconciledSystem, reconcile as compare  # noqa: I001 -- as above
    from sandbox.pipeline.sources.endpoint_check import require_endpoint

    tables, (url, region) = tables_at(place, service), service()
    session.require()
    require_endpoint(url)
    read = choose(streams, url, region)
    found = compare(session(), tables, ReconciledSystem(url, region, read, bucket, repository))
    if as_json:
        print_json(found)
    else:
        print_table(("", "records"), found.lines())
        for record in found.missing:
            lacking = ", ".join(record.missing_from)
            click.echo(f"{record.place} {record.message_id or '(no messageId)'}: not in {lacking}")
    return Exit.PASS if found.exact else Exit.FAIL
