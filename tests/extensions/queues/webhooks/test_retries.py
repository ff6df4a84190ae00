"""When a subscriber that does not answer is tried again."""

from __future__ import annotations

from itertools import pairwise

import pytest

from extensions.queues.webhooks.notifier import choose_policy, list_waits


def test_without_a_policy_there_are_four_phases() -> None:
    """Three at once, three after 5 s, five growing from 5 s to 30 s, three after 30 s."""
    assert list_waits({}) == [0, 0, 0, 5, 5, 5, 5, 10, 15, 20, 25, 30, 30, 30]


def test_a_policy_sets_the_counts_and_the_delays() -> None:
    """Of each phase."""
    policy = {
        "retries_with_no_delay": 1,
        "minimum_delay_retries": 2,
        "minimum_delay": 10,
        "maximum_delay": 40,
        "maximum_delay_retries": 1,
        "retry_backoff_function": "geometric",
    }
    planned = list_waits(policy)
    assert planned[:3] == [0, 10, 10]
    assert planned[-1] == 40
    growing = planned[3:-1]
    assert growing[0] == 10
    assert growing[-1] == pytest.approx(40)
    ratios = [after / before for before, after in pairwise(growing)]
    assert ratios == pytest.approx([ratios[0]] * len(ratios))


@pytest.mark.parametrize("function", ["linear", "arithmetic", "geometric", "exponential"])
def test_every_function_grows_between_the_delays(function: str) -> None:
    """Never shorter than the shortest, never longer than the longest, never less than before."""
    growing = list_waits({"retry_backoff_function": function})[6:-3]
    assert growing == sorted(growing)
    assert growing[0] >= 5
    assert growing[-1] <= 30


def test_the_subscription_has_its_own_unless_the_queue_forbids_it() -> None:
    """The queue's policy is for those that have none, or for all when it says so."""
    own, of_queue = {"minimum_delay": 7}, {"minimum_delay": 9}
    assert choose_policy({}, {}) == {}
    assert choose_policy({"_retry_policy": of_queue}, {}) == of_queue
    assert choose_policy({"_retry_policy": of_queue}, {"_retry_policy": own}) == own
    strict = of_queue | {"ignore_subscription_override": True}
    assert choose_policy({"_retry_policy": strict}, {"_retry_policy": own}) == strict
