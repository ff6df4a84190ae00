"""The settings of functions."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.settings.declarations import setting


def _check_count(name: str, count: int) -> None:
    if not 1 <= count <= 1000:
        raise ValueError(f"{name} is {count}; functions have 1 to 1000 environments at a time")


def _check_seconds(name: str, seconds: float) -> None:
    if seconds < 0:
        raise ValueError(f"{name} is {seconds:g}; an environment waits for 0 seconds or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSettings:
    """How many processes functions have, and for how long they are kept warm."""

    functions_concurrency: int = setting(
        32,
        "The most environments of functions (processes) at a time; an invocation beyond is throttled.",
        option="",
        applies="embedded",
        check=_check_count,
    )
    functions_idle_seconds: float = setting(
        300.0,
        "How long an environment waits for another invocation before its process is ended.",
        option="",
        applies="embedded",
        check=_check_seconds,
    )
