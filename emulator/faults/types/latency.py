"""A delay before an answer, or before a record becomes visible."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from emulator.faults.fault import (
    Attribute,
    Direction,
    Done,
    FaultRefusedError,
    FaultType,
    Hit,
    HoldTime,
    Phase,
)
from emulator.rng import Draws


def inject(hit: Hit) -> Done:
    # To microseconds, so that the event tells the very delay.
    seconds = round(draw_seconds(hit.attributes, hit.draws), 6)
    if hit.attributes["on"] == "record":
        arrived = hit.item.message.arrived
        # From its arrival: whoever reads late must not wait once more.
        hit.item.hidden.append(HoldTime(hit.hold, (hit.now if arrived is None else arrived) + seconds))
        return Done(f"hidden for {seconds:.3f} s after it arrived", {"seconds": seconds})
    hit.call.delays.append(HoldTime(hit.hold, seconds))
    return Done(f"the call took {seconds:.3f} s longer", {"seconds": seconds})


def draw_seconds(attributes: Mapping[str, Any], draws: Draws) -> float:
    """Draw a delay in seconds from the chosen distribution, between 0 and ``most``.

    ``delay`` is the constant, the mean of uniform and normal, the median of log-normal,
    and the minimum of Pareto. ``jitter`` is half of the range of uniform and the standard
    deviation of normal. ``shape`` is sigma of log-normal and alpha of Pareto.
    """
    delay, jitter, shape = attributes["delay"], attributes["jitter"], attributes["shape"]
    draw: dict[str, Callable[[], float]] = {
        "constant": lambda: delay,
        "uniform": lambda: draws.uniform(delay - jitter, delay + jitter),
        "normal": lambda: draws.gauss(delay, jitter),
        "lognormal": lambda: delay * math.exp(draws.gauss(0.0, shape)),
        "pareto": lambda: delay * draws.paretovariate(shape),
    }
    try:
        drawn = draw[attributes["distribution"]]()
    # A log-normal or Pareto draw may be beyond all floats.
    except OverflowError:
        drawn = math.inf
    return float(min(max(drawn, 0.0), attributes["most"]))


def check(attributes: Mapping[str, Any], direction: Direction) -> None:
    if attributes["on"] == "record" and direction is not Direction.DELIVER:
        raise FaultRefusedError(
            "latency on a record is how long it stays hidden from readers: its direction is deliver"
        )
    if attributes["distribution"] in {"lognormal", "pareto"} and attributes["shape"] <= 0:
        raise FaultRefusedError(f"latency: attribute shape is {attributes['shape']}: give a number above 0")


TYPE = FaultType(
    "latency",
    "Time passes before a call is answered, or before a record can be seen by readers. "
    "A call of many messages takes as long as its slowest.",
    Phase.FLOW,
    (Direction.PUBLISH, Direction.DELIVER),
    inject,
    (
        Attribute("delay", "duration", 0.2, "the delay, or the centre of its distribution", "s"),
        Attribute(
            "jitter",
            "duration",
            0.0,
            "the spread: half of the range of uniform, the standard deviation of normal",
            "s",
        ),
        Attribute(
            "distribution",
            "choice",
            "constant",
            "how delays are distributed",
            choices=("constant", "uniform", "normal", "lognormal", "pareto"),
        ),
        Attribute("shape", "number", 1.0, "the shape: sigma of lognormal, alpha of pareto", most=100),
        Attribute("most", "duration", 60.0, "the longest delay", "s"),
        Attribute(
            "on",
            "choice",
            "call",
            "what is delayed: the answer to a call, or a record",
            choices=("call", "record"),
        ),
    ),
    check=check,
)
