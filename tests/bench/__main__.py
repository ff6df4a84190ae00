"""``python -m tests.bench``: measure area by area, print the tables, renew results.md and results.json."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

import msgspec

from tests.bench import against, certify, kinesis, report

DEEP = 10_000_000
LONG = ("certify", "long_pipeline", "reconciliation")
"""Areas of a quarter of an hour and more: measured with --deep, or when they are named."""


def main() -> int:
    """Measure what is asked for; by default everything, ourselves and our peers."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "--depth", type=int, default=kinesis.DEPTH, help="records in one shard (default: %(default)s)"
    )
    deeper = f"--depth {DEEP}, and the areas {', '.join(LONG)}"
    parser.add_argument("--deep", action="store_const", dest="depth", const=DEEP, help=deeper)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        help="one subject of Kinesis, or one kind of client of certify, by its name; repeatable",
    )
    parser.add_argument("--area", action="append", choices=sorted(areas()), help="one area; repeatable")
    parser.add_argument(
        "--rows", type=Path, help="write what is measured to this file as JSON, and nowhere else"
    )
    parser.add_argument("--against", metavar="COMMIT", help="measure the areas with a commit too, in turns")
    parser.add_argument("--turns", type=int, default=5, help="turns with --against (default: %(default)s)")
    options = parser.parse_args()
    if options.against:
        for area in options.area or parser.error("--against needs an --area"):
            against.show(area, options.against, against.compare(area, options.against, options.turns))
        return 0
    deep = options.depth == DEEP
    for area in options.area or [name for name in sorted(areas()) if deep or name not in LONG]:
        if area == "kinesis":
            rows = list(kinesis.measure(options.depth, tuple(options.only)))
        elif area == "certify":
            rows = list(certify.measure(tuple(options.only)))
        else:
            rows = list(import_module(areas()[area]).measure())
        if options.rows:
            options.rows.write_bytes(msgspec.json.encode(rows))
            continue
        report.show(area, rows)
        if not options.only:
            report.write(area, rows)
    return 0


def areas() -> dict[str, str]:
    """The modules that measure something, by area: those beside this one, and those of extensions."""
    tests = Path(__file__).parents[1]
    files = [*tests.glob("bench/*.py"), *tests.glob("extensions/*/bench_*.py")]
    return {
        file.stem.removeprefix("bench_"): ".".join(file.relative_to(tests.parent).with_suffix("").parts)
        for file in files
        if b"\ndef measure(" in file.read_bytes()
    }


if __name__ == "__main__":
    raise SystemExit(main())
