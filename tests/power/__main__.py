"""``python -m tests.power``: cut every store at every place, have every call fail, renew docs/security.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import msgspec

from tests.docs.page_parts import renew_part
from tests.power.cut_runs import cut_everywhere
from tests.power.durable_stores import STORES
from tests.power.failing_calls import fail_everywhere
from tests.power.power_report import PAGE, RESULTS, StoreReport, render

SEED = 1


def main() -> int:
    """Exit with 1 where anything was wrong; it is on standard error."""
    reports = list(_measure())
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(reports), indent=1) + b"\n")
    PAGE.write_text(renew_part(PAGE.read_text(encoding="utf-8"), "power", render(reports)), encoding="utf-8")
    return int(any(each.wrong for each in reports))


def _measure() -> Iterator[StoreReport]:
    for store in STORES:
        synced, unsynced = (cut_everywhere(store, SEED, fsync=fsync) for fsync in (True, False))
        failed = fail_everywhere(store, SEED) if store.name != "services" else None
        wrong = [*synced.wrong, *unsynced.wrong, *(failed.wrong if failed else ())]
        report = StoreReport(
            store.name,
            synced.places,
            synced.states,
            unsynced.places,
            unsynced.states,
            unsynced.refused,
            failed.calls if failed else 0,
            failed.runs if failed else 0,
            len(wrong),
        )
        sys.stderr.write(f"{report}\n")
        for each in wrong:
            sys.stderr.write(f"  {each}\n")
        yield report


if __name__ == "__main__":
    raise SystemExit(main())
