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
    region: str = "us-east-1",
) -> pa.Table:
    """Read a table, or some of its columns, as it is now.

    ``place`` is where the tables are, a folder or ``s3://bucket/prefix``. ``endpoint_url`` is None for S3
    of AWS. Raises TableNotFoundError of deltalake when there is no such table.
    """
    chosen = None if columns is None else list(columns)
    return open_table(place, table, endpoint_url=endpoint_url, region=region).to_pyarrow_table(columns=chosen)


def open_table(
    place: Path | str, table: str, *, endpoint_url: str | None = None, region: str = "us-east-1"
) -> DeltaTable:
    """Open a table for delta-rs: its schema, history and older versions. Raises as ``read_table`` does."""
    from deltalake import DeltaTable

    uri = str(place).rstrip("/")
    return DeltaTable(f"{uri}/{table}", storage_options=storage_options(uri, endpoint_url, region))


def storage_options(uri: str, endpoint_url: str | None, region: str) -> dict[str, str]:
    """Build what delta-rs needs to know to read and write ``s3://bucket/prefix``; empty for a folder.

    A commit is a conditional put, so no lock table is needed.
    """
    if not uri.startswith("s3://"):
        return {}
    options = {"AWS_REGION": region, "conditional_put": "etag"}
    if endpoint_url is None:
        return options
    credentials = {
        "AWS_ACCESS_KEY_ID": os.environ.get("AWS_ACCESS_KEY_ID", "sandbox"),
        "AWS_SECRET_ACCESS_KEY": os.environ.get("AWS_SECRET_ACCESS_KEY", "sandbox"),
        "AWS_SESSION_TOKEN": os.environ.get("AWS_SESSION_TOKEN", ""),
    }
    options |= {name: value for name, value in credentials.items() if value}
    return options | {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_ALLOW_HTTP": str(endpoint_url.startswith("http://")).lower(),
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
    }
