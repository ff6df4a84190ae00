"""Shared options of ``sandbox pipeline``: Spark, the endpoint, the tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from rdss_sandbox.machine.trusted_authorities import BUNDLE
from rdss_sandbox.tables import choose_region
from sandbox.cli.options.contract import load_contract
from sandbox.cli.options.control_connection import connect, control_option
from sandbox.cli.options.extras import needs
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rdss_sandbox.client import Client
    from sandbox.pipeline.storage.table_store import Tables

Command: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class GivenEndpoint:
    """The endpoint of the options ``--endpoint`` and ``--control``."""

    endpoint: str | None
    control: str | None

    def __call__(self) -> tuple[str | None, str]:
        """The AWS endpoint's URL (None for AWS's own) and the region."""
        endpoint, region = self.endpoint, choose_region(None)
        if endpoint == "aws":
            # Every library that speaks to AWS looks there by itself.
            for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_KINESIS"):
                os.environ.pop(name, None)
            return None, region
        if endpoint is None:
            with self.client() as client:
                endpoint = client.status().aws
        if authorities := os.environ.get(BUNDLE):
            # The tables' library reads this one alone.
            os.environ["SSL_CERT_FILE"] = authorities
        if token := _token_of(endpoint):
            os.environ["AWS_SESSION_TOKEN"] = token
        if token or not os.environ.get("AWS_PROFILE"):
            # Spark's own processes sign requests too; a sandbox takes any pair.
            os.environ.setdefault("AWS_ACCESS_KEY_ID", "sandbox")
            os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "sandbox")
        return endpoint, region

    def client(self) -> Client:
        """Make a client of the sandbox. Raises CommandFailedError when nothing was started here."""
        return connect(self.control)


@dataclass(frozen=True)
class GivenSession:
    """The Spark session of the options, which a call opens."""

    master: str
    remote: str | None
    memory: str
    conf: tuple[str, ...]

    def require(self) -> None:
        """Fail within seconds, before anything else is asked, where Java is needed and missing."""
        from sandbox.pipeline.spark import java

        if self.remote is None:
            java.require()

    def __call__(self) -> SparkSession:
        from sandbox.pipeline.spark.spark_session import open_remote_session, open_session

        bad = next((pair for pair in self.conf if "=" not in pair), None)
        if bad is not None:
            raise CommandFailedError(f"--conf takes KEY=VALUE, not {bad!r}", Exit.USAGE)
        settings = dict(pair.split("=", 1) for pair in self.conf)
        if self.remote is not None:
            return open_remote_session(self.remote, settings=settings)
        return open_session(self.master, memory=self.memory, settings=settings)


_RDSS_STREAMS: Final = "input,output,error,invalid"


def sources_options(command: Command) -> Command:
    """Add the options that name the streams to read, and the audit bucket."""
    help_of_option = (
        "The streams to read, with commas between them; '*' is every stream but the audit log's."
        f"  [default: {_RDSS_STREAMS}, or all of another contract]"
    )
    streams = click.option("--streams", "--channel", "streams", metavar="NAMES", help=help_of_option)
    bucket = click.option("--bucket", default="rdss-audit", metavar="NAME", help="The audit bucket.")
    return streams(bucket(command))


def choose(streams: str | None, url: str | None, region: str) -> tuple[str, ...]:
    """The streams to read of a list of names and patterns; the others are named on standard error."""
    from sandbox.pipeline.sources.stream_choice import choose_streams

    usual = _RDSS_STREAMS if load_contract().name == "rdss" else "*"
    asked = [name for part in (streams or usual).split(",") if (name := part.strip())]
    read, left_out = choose_streams(asked, url, region)
    if left_out:
        count = "1 stream is" if len(left_out) == 1 else f"{len(left_out)} streams are"
        click.echo(f"sandbox: {count} not read: {', '.join(left_out)}; --channel '*' reads all", err=True)
    return read


def place_option(flag: str) -> Callable[[Command], Command]:
    """Make the option for the place of the tables."""
    text = "Where the tables are: a folder, or s3://bucket/prefix."
    return click.option(flag, "place", default="runs/pipeline", metavar="DIR|s3://...", help=text)


def spark_options(command: Command) -> Command:
    """Add the options of the Spark session; the command gets ``session``, which opens it."""

    @wraps(command)
    def with_session(
        *, master: str, remote: str | None, memory: str, conf: tuple[str, ...], **others: Any
    ) -> Any:
        return command(session=GivenSession(master, remote, memory, conf), **others)

    options = (
        click.option(
            "--master",
            default="local[*]",
            show_envvar=True,
            envvar="SANDBOX_SPARK_MASTER",
            metavar="URL",
            help="Where Spark runs.",
        ),
        click.option(
            "--remote",
            metavar="sc://HOST:PORT",
            help="A Spark Connect server that runs it, with the sandbox in its Python; without --master.",
        ),
        click.option("--memory", default="1g", metavar="SIZE", help="Heap of Spark's driver."),
        click.option(
            "--conf", multiple=True, metavar="KEY=VALUE", help="A further Spark setting; repeatable."
        ),
    )
    return reduce(lambda wrapped, option: option(wrapped), reversed(options), with_session)


def table_options(command: Command) -> Command:
    """Add what every command on tables has: the AWS endpoint and ``--json``.

    The command gets ``service`` with the endpoint's URL and region, and is run where its extra is here.
    """

    @wraps(command)
    @needs("pipeline")
    def with_service(*, endpoint: str | None, control: str | None, **others: Any) -> Any:
        return command(service=GivenEndpoint(endpoint, control), **others)

    text = "The AWS endpoint; by default AWS_ENDPOINT_URL or that of the running sandbox; aws is AWS itself."
    endpoint = click.option("--endpoint", metavar="URL", envvar="AWS_ENDPOINT_URL", help=text)
    return control_option(endpoint(json_option(with_service)))


def _token_of(endpoint: str) -> str | None:
    """The token of the sandbox at this endpoint; None if it was not started here."""
    from sandbox.profiles import running

    found = running.find()
    return found.token if found is not None and found.aws == endpoint.rstrip("/") else None


def tables_at(place: str, service: GivenEndpoint) -> Tables:
    """Open the tables in a place. Raises CommandFailedError when there are none."""
    from sandbox.pipeline.sources.endpoint_check import require_endpoint
    from sandbox.pipeline.storage.table_storage import TableStorage
    from sandbox.pipeline.storage.table_store import Tables

    url, region = service() if place.startswith("s3://") else (None, "us-east-1")
    require_endpoint(url)
    tables = Tables(TableStorage.at(place, url, region))
    if not tables.exist:
        raise CommandFailedError(
            f"there are no tables in {place}; write some with: sandbox pipeline run --to {place}", Exit.USAGE
        )
    return tables
