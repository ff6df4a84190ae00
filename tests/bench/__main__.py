"""``python -m tests.bench``: measure, print the table, write results.md and results.json."""

from __future__ import annotations

import argparse
import pkgutil
from importlib import import_module
from pathlib import Path

from tests.bench import kinesis, pipeline, report
from tests.bench.rows import Row

DEEP = 10_000_000


def main() -> int:
    """Measure what is asked for; by default everything, ourselves and our peers."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "--depth", type=int, default=kinesis.DEPTH, help="records in one shard (default: %(default)s)"
    )
    deep = f"--depth {DEEP}, and the pipeline's run of {pipeline.DEEP} messages"
    parser.add_argument("--deep", action="store_const", dest="depth", const=DEEP, help=deep)
    parser.add_argument(
        "--only", action="append", default=[], help="one subject of Kinesis by its name; repeatable"
    )
    parser.add_argument("--area", action="append", choices=sorted(areas()), help="one area; repeatable")
    options = parser.parse_args()
    rows: list[Row] = []
    for area in options.area or sorted(areas()):
        if area == "kinesis":
            rows += kinesis.measure(options.depth, tuple(options.only))
        elif area == "pipeline":
            rows += pipeline.measure(deep=options.depth == DEEP)
        else:
            rows += import_module(f"tests.bench.{area}").measure()
    report.show(rows)
    if not options.only and not options.area:
        report.write(rows)
    return 0


def areas() -> list[str]:
    """The modules beside this one that measure something."""
    folder = Path(__file__).parent
    return [
        m.name
        for m in pkgutil.iter_modules([str(folder)])
        if b"\ndef measure(" in (folder / f"{m.name}.py").read_bytes()
    ]


if __name__ == "__main__":
    raise SystemExit(main())
