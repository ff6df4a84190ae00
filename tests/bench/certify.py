"""The power of ``sandbox certify``: what it says of a population of clients, wrong ones and right ones.

Each wrong client is tried whole for one seed, and for five more in the stages that its bug needs; right ones
are tried whole. A wrong client is found when the clause that names its bug fails; a right one is accused when
one fails. Several run at once, each in a process of its own: the clients mostly wait.

    python -m tests.bench.certify --only KIND    a kind, a shape or ``right``; nothing is kept but the runs

Each result is a line of ``.certify-runs.jsonl``. What is there of the same kit and client is not tried again.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.bench import certify_rates
from tests.bench.certify_rates import Rate
from tests.bench.rows import US, Row
from tests.sandbox.certify.population.kind import build_trial
from tests.sandbox.certify.population.population import SHAPES, WRONG
from tests.sandbox.certify.population.run import RIGHT, Result, Run, find_shape, try_client

AT_ONCE: Final = 10
SEEDS: Final = 6
_ROOT: Final = Path(__file__).parents[2]
_RUNS: Final = _ROOT / ".certify-runs.jsonl"
_LONGEST_SECONDS: Final = 900
_PROCESSES: Final = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tests.sandbox.certify.population.run"])
_POLLING: Final = ("kinesis-consumer-loop", "kinesis-consumer-threads", "kinesis-consumer-transaction")
_KIT: Final = ("sandbox/certify", "emulator/diagnosis", "extensions")


def measure(only: tuple[str, ...] = ()) -> Iterator[Row]:
    """Rows for the table; what was found of each kind and shape is kept, and printed, beside them."""
    results = try_all(plan_runs(only, range(1, SEEDS + 1)), AT_ONCE)
    rates = certify_rates.count(results)
    Console(stderr=True).print(certify_rates.table(rates))
    if not only:
        certify_rates.write(rates)
    yield from summarise(rates)
    yield from measure_alone(results)


def measure_alone(results: Sequence[Result]) -> Iterator[Row]:
    """Rows for the table: how long a certificate of a polling stream consumer takes with nothing beside it.

    Of the wrong ones it is the slowest that was whole, by what it took beside the others.
    """
    whole = [each for each in results if each.run.whole and find_shape(each.run).id in _POLLING]
    slowest = max(
        (each for each in whole if each.run.kind != RIGHT), key=lambda each: each.seconds, default=None
    )
    runs = [Run(RIGHT, shape, 1, whole=True) for shape in _POLLING]
    for run in (*runs, *([slowest.run] if slowest else [])):
        result = _try(run, "")
        what = run.kind or "right"
        yield Row(f"certificate alone: {what}, {run.shape}", US, round(result.seconds, 1), "s")


def summarise(rates: Sequence[Rate]) -> Iterator[Row]:
    """Rows for the table: of all wrong clients together, and of all right ones."""
    right, wrong = [each for each in rates if each.right], [each for each in rates if not each.right]
    runs = sum(each.runs for each in wrong)
    found = 100 * sum(each.found for each in wrong) / max(1, runs)
    yield Row("wrong clients found", US, round(found, 1), "% of runs", "more")
    yield Row("runs of wrong clients", US, runs, "", "more")
    yield Row("right clients accused", US, sum(each.runs - each.found for each in right), "runs")
    yield Row("runs of right clients", US, sum(each.runs for each in right), "", "more")


def plan_runs(only: Sequence[str], seeds: Sequence[int], *, whole: bool = True) -> list[Run]:
    """The runs of what is asked for, the seeds one after another; the first seed is tried ``whole``."""
    clients = [(each.kind.name, each.shape.id) for each in WRONG]
    clients += [(RIGHT, each.id) for each in SHAPES]
    chosen = [each for each in clients if not only or _is_chosen(each, only)]
    return [
        Run(kind, shape, seed, kind == RIGHT or (whole and seed == seeds[0]))
        for seed in seeds
        for kind, shape in chosen
    ]


def _is_chosen(client: tuple[str, str], only: Sequence[str]) -> bool:
    kind, shape = client
    return any(each in (kind or "right", shape) for each in only)


def try_all(runs: Sequence[Run], at_once: int, path: Path = _RUNS) -> list[Result]:
    """Make the runs that have no result yet, several at once; return the results of all of them."""
    console = Console(stderr=True)
    for shape in {find_shape(run) for run in runs}:
        # What a client needs is installed once, not by each of those that run at once.
        build_trial(shape, shape.program)
    known = _read(path)
    wanted = {_identify(run): run for run in runs}
    results = [known[each] for each in wanted if each in known]
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as progress, ThreadPoolExecutor(at_once) as pool:
        task = progress.add_task("", total=len(wanted), completed=len(results))
        left = [pool.submit(_try, run, digest) for digest, run in wanted.items() if digest not in known]
        try:
            for each in as_completed(left):
                result = each.result()
                results.append(result)
                with path.open("ab") as file:
                    file.write(msgspec.json.encode(result) + b"\n")
                progress.update(task, advance=1, description=certify_rates.describe(result))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results


def _try(run: Run, kit: str) -> Result:
    """Make a run in a process of its own, which is ended when it takes too long."""
    receiver, sender = _PROCESSES.Pipe(duplex=False)
    process = _PROCESSES.Process(target=_answer, args=(run, kit, sender))
    process.start()
    sender.close()
    try:
        if receiver.poll(_LONGEST_SECONDS):
            return msgspec.json.decode(receiver.recv_bytes(), type=Result)
        return Result(run, kit, error=f"no verdict in {_LONGEST_SECONDS} s", seconds=_LONGEST_SECONDS)
    except EOFError:
        return Result(run, kit, error="it ended without a verdict")
    finally:
        process.kill()
        process.join()


def _answer(run: Run, kit: str, sender: Connection) -> None:
    try:
        result = try_client(run, kit)
    except Exception as error:  # noqa: BLE001 -- one run's failure must not end the others
        result = Result(run, kit, error=repr(error))
    sender.send_bytes(msgspec.json.encode(result))


def _read(path: Path) -> dict[str, Result]:
    """The results that there are, by what identifies their runs; one that ended in an error is no result."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    found = [msgspec.json.decode(line, type=Result) for line in lines]
    return {each.kit: each for each in found if not each.error}


def _identify(run: Run) -> str:
    """The digest of the kit, of the client and of the run."""
    parts: Iterable[bytes] = (
        path.read_bytes() for folder in _KIT for path in sorted((_ROOT / folder).rglob("*.py"))
    )
    digest = _KIT_DIGESTS.setdefault("kit", sha256(b"".join(parts)).hexdigest())
    shape = find_shape(run)
    wrong = [each for each in WRONG if (each.kind.name, each.shape) == (run.kind, shape)]
    stages = [] if run.whole else [each.kind.stages for each in wrong]
    client = repr((run, stages, [each.changes for each in wrong])).encode() + shape.program.read_bytes()
    return sha256(digest.encode() + client).hexdigest()[:24]


_KIT_DIGESTS: dict[str, str] = {}


def main() -> int:
    """Try what is asked for, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.certify", description=__doc__)
    parser.add_argument(
        "--only", action="append", default=[], help="a kind, a shape or ``right``; repeatable"
    )
    parser.add_argument("--seed", type=int, action="append", help="repeatable (default: 1)")
    parser.add_argument("--stages", action="store_true", help="only the stages that the bugs need")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="default: %(default)s")
    options = parser.parse_args()
    runs = plan_runs(options.only, options.seed or [1], whole=not options.stages)
    if not runs:
        kinds = sorted({each.kind.name for each in WRONG})
        parser.error(f"there is none of these; there are right, {', '.join(kinds)}")
    results = try_all(runs, options.at_once)
    console = Console(highlight=False, soft_wrap=True)
    for each in results:
        if not certify_rates.is_right(each):
            console.print(certify_rates.describe(each))
            console.print_json(msgspec.json.encode(each).decode())
    console.print(certify_rates.table(certify_rates.count(results)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
