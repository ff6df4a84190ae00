"""Fuzzes one parser in this process, until a bound or its first fault: ``python -m tests.fuzz.one_run``.

The last line on standard output is a JSON object: what was done and, after a fault, where the input is.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import resource
import sys
import tempfile
import traceback
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final, NoReturn
from zlib import crc32

import msgspec

from emulator.clock import stopwatch
from emulator.rng import Draws
from tests.fuzz.changed_inputs import change
from tests.fuzz.fuzzed_parser import CORPUS, BoundedParse, FuzzedParser, list_corpus, load_parser

_HANG_SECONDS: Final = 30
"""Then the process is ended: an input that never ends is never measured."""
_BEGUN: Final = stopwatch()
"""The seconds of a run have its start in them: the run of all parsers is as long as it says."""
_INSTRUMENTED: Final = (
    *("emulator", "extensions", "rdss_sandbox", "sandbox", "schemas"),
    *("h2", "hpack", "hyperframe", "websockets"),
)


class Run:
    """Gives a parser inputs until there were enough of them, or it has been long enough."""

    def __init__(
        self, name: str, parse: BoundedParse, *, inputs: int, seconds: float, findings: Path
    ) -> None:
        self._name = name
        self._parse = parse
        self._inputs = inputs
        self._until = _BEGUN + seconds
        self._findings = findings

    def take(self, data: bytes) -> None:
        """Parse one input. A fault, and the end of the run, end the process: atheris has no other end."""
        try:
            self._parse(data)
        except BaseException:  # noqa: BLE001 -- whatever it is, it is what was looked for
            self._findings.mkdir(parents=True, exist_ok=True)
            path = self._findings / f"{self._name}-{sha256(data).hexdigest()[:12]}"
            path.write_bytes(data)
            self._end(1, f"{path}\n{traceback.format_exc()}")
        if self._parse.inputs >= self._inputs > 0 or (not self._inputs and stopwatch() > self._until):
            self._end(0, "")

    def _end(self, code: int, fault: str) -> NoReturn:
        done = {
            "inputs": self._parse.inputs,
            "slowest": self._parse.slowest,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            "fault": fault,
        }
        sys.stdout.write(f"{msgspec.json.encode(done).decode()}\n")
        sys.stdout.flush()
        os._exit(code)


def open_parser(name: str) -> tuple[FuzzedParser, BoundedParse]:
    """The parser, and how it parses; what it loads for the first input is loaded."""
    parser = load_parser(name)
    parse = parser.open()
    for path in list_corpus(name):
        parse(path.read_bytes())
    return parser, BoundedParse(parse)


def guide(name: str, findings: Path, seed: int, **bounds: int) -> NoReturn:
    """Fuzz with atheris. A seed of 0 is chance. Raises ModuleNotFoundError where it is not installed."""
    import atheris

    with atheris.instrument_imports(include=list(_INSTRUMENTED)):
        parser, parse = open_parser(name)
        run = Run(name, parse, findings=findings, **bounds)
    with tempfile.TemporaryDirectory() as kept:
        limits = (f"-max_len={parser.longest}", f"-timeout={_HANG_SECONDS}", "-rss_limit_mb=4096")
        atheris.Setup([name, *limits, f"-seed={seed}", kept, str(CORPUS / name)], run.take)
        atheris.Fuzz()
    raise AssertionError("it ends with the process")


def change_by_chance(name: str, findings: Path, seed: int, **bounds: int) -> NoReturn:
    """Fuzz by changing the corpus, the same way each time for a seed."""
    parser, parse = open_parser(name)
    run = Run(name, parse, findings=findings, **bounds)
    corpus, chance = [path.read_bytes() for path in list_corpus(name)], Draws(crc32(name.encode(), seed))
    while True:
        faulthandler.dump_traceback_later(_HANG_SECONDS, exit=True)
        run.take(change(chance.choice(corpus), corpus, chance)[: parser.longest])


def main(given: Iterable[str] | None = None) -> NoReturn:
    arguments = argparse.ArgumentParser(prog="python -m tests.fuzz.one_run", description=__doc__)
    arguments.add_argument("parser")
    arguments.add_argument("--seconds", type=int, default=0)
    arguments.add_argument("--inputs", type=int, default=0)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--findings", type=Path, default=Path("runs/fuzz"))
    asked = arguments.parse_args(given)
    bounds = {"inputs": asked.inputs, "seconds": asked.seconds}
    try:
        guide(asked.parser, asked.findings, asked.seed, **bounds)
    except ModuleNotFoundError as missing:
        if missing.name != "atheris":
            raise
    change_by_chance(asked.parser, asked.findings, asked.seed, **bounds)


if __name__ == "__main__":
    main()
