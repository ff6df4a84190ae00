"""``python -m tests.power STORE ...``: cut stores at every place, have calls fail, renew docs/security.md.

Without a store, all of them; what the page says of others stays.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator

import msgspec

from tests.docs.page_parts import renew_part
from tests.power.cut_runs import cut_everywhere
from tests.power.durable_stores import STORES
from tests.power.failing_calls import fail_everywhere
from tests.power.power_report import PAGE, RESULTS, StoreReport, read_results, render

SEED = 1
MOST_CALLS = {"services": 100}
"""That fail, where not all do: each needs a whole sandbox four times."""


def main() -> int:
    """Exit with 1 where anything was wrong; it is on standard error."""
    names = [store.name for store in STORES]
    arguments = argparse.ArgumentParser(prog="python -m tests.power", description=__doc__)
    arguments.add_argument("stores", nargs="*", metavar="STORE", help=", ".join(names))
    measured = {each.store: each for each in _measure(arguments.parse_args().stores or names)}
    known = {each.store: each for each in read_results()} | measured
    reports = [known[name] for name in names]
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(reports), indent=1) + b"\n")
    PAGE.write_text(renew_part(PAGE.read_text(encoding="utf-8"), "power", render(reports)), encoding="utf-8")
    return int(any(each.wrong for each in measured.values()))


def _measure(names: Collection[str]) -> Iterator[StoreReport]:
    for store in (each for each in STORES if each.name in names):
        synced, unsynced = (cut_everywhere(store, SEED, fsync=fsync) for fsync in (True, False))
        failed = fail_everywhere(store, SEED, most=MOST_CALLS.get(store.name))
        wrong = [*synced.wrong, *unsynced.wrong, *failed.wrong]
        report = StoreReport(
            store.name,
            synced.places,
            synced.states,
            unsynced.places,
            unsynced.states,
            unsynced.refused,
            failed.calls,
            failed.runs,
            len(wrong),
        )
        sys.stderr.write(f"{report}\n")
        for each in wrong:
            sys.stderr.write(f"  {each}\n")
        yield report


if __name__ == "__main__":
    raise SystemExit(main())
