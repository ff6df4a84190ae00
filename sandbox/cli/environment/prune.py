from __future__ import annotations

import re

import click

from rdss_sandbox.text.figures import size
from sandbox.cli.options.control_connection import connect, control_option
from sandbox.cli.options.waiting import duration
from sandbox.cli.output.printing import json_option, print_rows

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", re.IGNORECASE)


@click.command()
@click.option(
    "--older-than",
    metavar="AGE",
    callback=duration,
    help="Remove what is older: 7d, 12h, 30m, by the sandbox's clock.",
)
@click.option("--keep", metavar="SIZE", help="Keep this much of each, the newest: 500MB, 2GB.")
@click.option(
    "--bucket",
    "buckets",
    multiple=True,
    metavar="NAME",
    help="Remove any object of this bucket, and nothing else.  [default: what was loaded from streams]",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@control_option
@json_option
def prune(
    *,
    older_than: float | None,
    keep: str | None,
    buckets: tuple[str, ...],
    dry_run: bool,
    control: str | None,
    as_json: bool,
) -> None:
    """Remove old objects of the audit log and the archives, and old events.

    Streams forget by their own retention. sandbox up --retention AGE does the same by itself.
    """
    from rdss_sandbox.shapes.pruning import Prune

    if older_than is None and keep is None:
        raise click.UsageError("say what shall go: --older-than AGE, --keep SIZE, or both")
    limits = Prune(
        older_than=older_than,
        keep_bytes=None if keep is None else _bytes(keep),
        buckets=buckets,
        dry_run=dry_run,
    )
    with connect(control) as client:
        found = client.prune(limits)
    removed = "would go" if found.dry_run else "removed"
    rows = ((part.name, part.removed, size(part.bytes), part.kept) for part in found.parts)
    print_rows(found, ("what", removed, "size", "kept"), rows, as_json=as_json)


def _bytes(written: str) -> int:
    found = _SIZE.fullmatch(written.strip())
    if found is None:
        raise click.BadParameter(f"{written!r} is no size: give bytes, or 500MB, 2GB", param_hint="--keep")
    return int(float(found[1]) * _UNITS[found[2].lower()])
