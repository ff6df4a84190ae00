"""A parser that faces a socket or a file from outside, and what one input may cost it."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, TypeAlias

Parse: TypeAlias = Callable[[bytes], object]
"""Parses one input. What it raises is a fault: the refusals that the parser documents are caught in it."""

CORPUS: Final = Path(__file__).with_name("corpus")
MOST_SECONDS: Final = 0.5
"""Of processor time: a machine with other work must not make an input slow."""
MOST_GROWTH: Final = 50 << 20
_LONGEST_INPUT: Final = 4096
_UNIT: Final = 1 if sys.platform == "darwin" else 1024

FAMILIES: Final = {
    "tests.fuzz.inputs.http_bytes": ("http1", "http2", "websocket"),
    "tests.fuzz.inputs.amqp_bytes": ("amqp", "amqp-tables"),
    "tests.fuzz.inputs.aws_requests": (
        "kinesis-json",
        "kinesis-cbor",
        "event-stream",
        "aws-chunked",
        "aws-forms",
    ),
    "tests.fuzz.inputs.filter_texts": ("filter",),
    "tests.fuzz.inputs.stored_files": ("journal", "snapshot", "tape", "broker-files"),
    "tests.fuzz.inputs.documents": ("asyncapi", "documents"),
    "tests.fuzz.inputs.messages": ("rdss-message", "declared-message"),
    "tests.fuzz.inputs.port_requests": ("topics", "queues", "lambda", "control"),
}
NAMES: Final = tuple(name for names in FAMILIES.values() for name in names)


@dataclass(frozen=True)
class FuzzedParser:
    """``of`` says what reaches it; ``open`` sets it up; ``seeds`` are inputs that get far, by their names."""

    of: str
    open: Callable[[], Parse]
    seeds: Callable[[], Iterable[tuple[str, bytes]]]
    longest: int = _LONGEST_INPUT


class TooSlowError(Exception):
    """An input took more than ``MOST_SECONDS``."""


class GrowthError(Exception):
    """An input had the process grow by more than ``MOST_GROWTH`` bytes."""


def load_parser(name: str) -> FuzzedParser:
    family = next(family for family, names in FAMILIES.items() if name in names)
    found: FuzzedParser = getattr(import_module(family), name.replace("-", "_").upper())
    return found


def list_corpus(name: str) -> list[Path]:
    """The files of a parser's corpus, which are committed."""
    return sorted((CORPUS / name).iterdir())


class BoundedParse:
    """Parses inputs and holds each to the bounds. ``slowest`` is in seconds of processor time."""

    def __init__(self, parse: Parse) -> None:
        self._parse = parse
        self.inputs = 0
        self.slowest = 0.0

    def __call__(self, data: bytes) -> None:
        """Raises what the parser raises, ``TooSlowError`` and ``GrowthError``."""
        self.inputs += 1
        seconds, grown = self._measure(data)
        if seconds > MOST_SECONDS:
            # What was loaded once, or was the garbage of all before, is not this input's.
            seconds, _ = self._measure(data)
            if seconds > MOST_SECONDS:
                raise TooSlowError(f"{seconds:.2f} s for {len(data)} bytes")
        if grown > MOST_GROWTH:
            raise GrowthError(f"{grown >> 20} MiB for {len(data)} bytes")
        self.slowest = max(self.slowest, seconds)

    def _measure(self, data: bytes) -> tuple[float, int]:
        before = resource.getrusage(resource.RUSAGE_SELF)
        self._parse(data)
        after = resource.getrusage(resource.RUSAGE_SELF)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return seconds, (after.ru_maxrss - before.ru_maxrss) * _UNIT


@contextmanager
def refusals(*kinds: type[Exception]) -> Iterator[None]:
    """What a parser refuses in the way that it documents is no fault."""
    try:
        yield
    except kinds:
        return
