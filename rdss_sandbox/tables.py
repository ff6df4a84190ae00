"""Read the pipeline's tables as Arrow; pandas, polars and DuckDB take that as it is.

    from rdss_sandbox.tables import read_table

    messages = read_table("runs/pipeline", "messages", columns=["tenant", "arrived"]).to_pandas()

It needs the packages of the extra ``pipeline``, and no Java. ``docs/tables.md`` lists the tables and their
columns.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable


def read_table(
    place: Path | str,
    table: str,
    *,
    columns: Sequence[str] | None = None,
    endpoint_url: str | None = None,
    region: str | None = None,
) -> pa.Table:
    """Read a table, or some of its columns, as it is now.

    ``place`` is where the tables are, a folder or ``s3://bucket/prefix``. ``endpoint_url`` and ``region`` are
    by default those of AWS's environment variables, else S3 of AWS in us-east-1. Raises TableNotFoundError
    of deltalake when there is no such table.
    """
    chosen = None if columns is None else list(columns)
    return open_table(place, table, endpoint_url=endpoint_url, region=region).to_pyarrow_table(columns=chosen)


def open_table(
    place: Path | str, table: str, *, endpoint_url: str | None = None, region: str | None = None
) -> DeltaTable:
    """Open a table for delta-rs: its schema, history and older versions. Raises as ``read_table`` does."""
    from deltalake import DeltaTable

    uri = str(place).rstrip("/")
    return DeltaTable(f"{uri}/{table}", storage_options=storage_options(uri, endpoint_url, region))


def endpoint_credentials() -> dict[str, str]:
    """The credentials for an endpoint that was named: of AWS_PROFILE or the environment, or any at all.

    A sandbox takes any. For AWS itself each library looks them up in all the usual places.
    """
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    if os.environ.get("AWS_PROFILE") and not os.environ.get(names[0]):
        from botocore.session import Session

        if found := Session().get_credentials():
            return {
                name: value
                for name, value in zip(names, found.get_frozen_credentials(), strict=False)
                if value
            }
    given = {name: os.environ.get(name, "") for name in names}
    return {names[0]: "sandbox", names[1]: "sandbox"} | {
        name: value for name, value in given.items() if value
    }


def choose_endpoint(endpoint_url: str | None) -> str | None:
    """The endpoint for S3: the given one, else that of the environment, else None, which is AWS's own."""
    return endpoint_url or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def choose_region(region: str | None) -> str:
    """The region: the given one, else that of the environment, else us-east-1."""
    return region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


def storage_options(uri: str, endpoint_url: str | None = None, region: str | None = None) -> dict[str, str]:
    """Build what delta-rs needs to know to read and write ``s3://bucket/prefix``; empty for a folder.

    A commit is a conditional put, so no lock table is needed.
    """
    if not uri.startswith("s3://"):
        return {}
    options = {"AWS_REGION": choose_region(region), "conditional_put": "etag"}
    endpoint_url = choose_endpoint(endpoint_url)
    if endpoint_url is None:
        return options
    return (
        options
        | endpoint_credentials()
        | {
            "AWS_ENDPOINT_URL": endpoint_url,
            "AWS_ALLOW_HTTP": str(endpoint_url.startswith("http://")).lower(),
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
        }
    )
