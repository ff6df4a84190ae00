"""How many times a failed notification is retried, and after which waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from extensions.queues.engine.metadata import LONGEST_DELAY, RETRY_POLICY, SHORTEST_DELAY

_STEP_SECONDS: Final = 5
_DEFAULT_RETRIES: Final = 3


def choose_policy(queue: Mapping[str, Any], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Choose the retry policy: the subscription's own, unless the queue's policy forbids that."""
    of_queue = queue.get(RETRY_POLICY) or {}
    own = options.get(RETRY_POLICY) or {}
    return of_queue if of_queue.get("ignore_subscription_override") else own or of_queue


def list_waits(policy: Mapping[str, Any]) -> list[float]:
    """List the seconds to wait before each retry, in four phases.

    The retries come at once, then after the shortest delay, then after delays that grow from the shortest to
    the longest by the policy's function, then after the longest delay.
    """
    shortest = policy.get("minimum_delay") or SHORTEST_DELAY
    longest = policy.get("maximum_delay") or LONGEST_DELAY
    growing = _BACKOFFS[policy.get("retry_backoff_function") or "linear"]
    steps = max((longest - shortest) // _STEP_SECONDS, 2)
    return [
        *[0.0] * _count(policy, "retries_with_no_delay"),
        *[float(shortest)] * _count(policy, "minimum_delay_retries"),
        *[growing(shortest, longest, step, steps) for step in range(steps)],
        *[float(longest)] * _count(policy, "maximum_delay_retries"),
    ]


def _count(policy: Mapping[str, Any], name: str) -> int:
    return max(int(policy.get(name) or _DEFAULT_RETRIES), 0)


def _linear(shortest: float, longest: float, step: int, steps: int) -> float:
    return shortest + (longest - shortest) * step / steps


def _arithmetic(shortest: float, longest: float, step: int, steps: int) -> float:
    """The increase grows by the same amount each time."""
    return shortest + (longest - shortest) * step * (step + 1) / (steps * (steps + 1))


def _geometric(shortest: float, longest: float, step: int, steps: int) -> float:
    """Each delay is the one before times the same factor; the last is the longest."""
    return float(shortest * (longest / shortest) ** (step / (steps - 1)))


_BACKOFFS: Final[Mapping[str, Callable[[float, float, int, int], float]]] = {
    "linear": _linear,
    "arithmetic": _arithmetic,
    "geometric": _geometric,
    "exponential": _geometric,
}
