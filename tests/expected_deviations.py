"""Where a behaviour of the suites that run in every profile cannot be had in one of them, and why."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

import pytest

from tests.profile_sandboxes import PROFILES

PARAMETERS = {"broker": "* *", "stream_broker": "* *", "api": "*", "sandbox": "*"}
"""The fixtures that take a profile, and how they name it: some with the kind of channel."""


@dataclass(frozen=True)
class Difference:
    """``why`` the tests, or cases of them, do not hold in the profiles.

    ``fails``: they are run, and are to fail; without, they are skipped.
    """

    profiles: tuple[str, ...]
    why: str
    tests: tuple[str, ...]
    fails: bool = True


LOCALSTACK = ("localstack", "compose")

DIFFERENCES = (
    Difference(
        ("embedded", "relay", "localstack"),
        "only containers can be taken off a network, and this profile has none",
        ("test_what_strikes_a_target_does_so_at_a_message[isolate]",),
        fails=False,
    ),
    Difference(
        ("compose",),
        "a process id would be one of the emulator's container; test_compose strikes containers",
        ("test_what_strikes_a_target_does_so_at_a_message",),
        fails=False,
    ),
    Difference(
        LOCALSTACK,
        "LocalStack's Kinesis now and then deletes a stream and says that there was none, or not yet",
        ("test_a_stream_with_consumers_is_deleted_only_when_that_is_enforced",),
        fails=False,
    ),
    Difference(
        LOCALSTACK,
        "LocalStack's Kinesis has a clock of its own, which cannot be advanced",
        ("test_millis_behind_latest_is_true", "test_list_shards_filters_by_id_and_time"),
    ),
    Difference(
        LOCALSTACK,
        "LocalStack's Kinesis refuses this with another code than AWS",
        (
            "test_oversize_past_the_record_limit_is_refused_by_kinesis",
            "test_a_garbage_iterator_is_refused_as_aws_does",
            "test_a_number_of_another_shard_is_refused_by_name",
            "test_a_closed_shard_is_not_split_or_merged_again",
        ),
    ),
    Difference(
        LOCALSTACK,
        "LocalStack's Kinesis takes what AWS refuses",
        (
            "test_a_position_that_cannot_be_is_refused[number not wanted]",
            "test_a_position_that_cannot_be_is_refused[no such number]",
            "test_a_position_that_cannot_be_is_refused[number of another stream]",
            "test_a_position_that_cannot_be_is_refused[time to come]",
            "test_an_iterator_is_not_taken_for_another_stream",
            "test_a_split_needs_a_key_well_inside_the_range[0]",
            "test_a_split_needs_a_key_well_inside_the_range[1]",
            "test_an_on_demand_stream_is_not_resharded_by_hand",
            "test_what_names_no_stream_or_two_is_refused",
        ),
    ),
    Difference(
        LOCALSTACK,
        "LocalStack's Kinesis has no dry runs, AUTO distribution, short shard ids or pages of consumers",
        (
            "test_a_dry_run_says_that_it_would_have_worked_and_does_nothing",
            "test_a_stream_that_distributes_by_itself_needs_no_key",
            "test_shard_ids_can_be_abbreviated",
            "test_listing_consumers_pages",
        ),
    ),
    Difference(
        LOCALSTACK,
        "LocalStack's Kinesis ends every closed shard with 2^63-1, below the numbers of its records",
        ("test_the_numbers_of_a_parent_are_below_those_of_its_children",),
    ),
    Difference(
        LOCALSTACK,
        "LocalStack's Kinesis merges only the left shard with the right one",
        ("test_a_merge_joins_neighbours_in_either_order",),
    ),
    Difference(
        LOCALSTACK,
        "LocalStack's Kinesis scales to shards of unequal size, and at most to the double or the half",
        ("test_scaling_ends_with_shards_of_equal_size",),
    ),
)


def mark_differences(items: list[pytest.Item]) -> None:
    """Skips and expected failures for what the table names."""
    for item in items:
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
            continue
        for parameter, form in PARAMETERS.items():
            where = str(item.callspec.params.get(parameter, ""))
            if where.partition(" ")[0] in PROFILES and fnmatchcase(where, form):
                _mark(item, where)


def _mark(item: pytest.Function, where: str) -> None:
    profile = where.partition(" ")[0]
    case = f"{item.originalname}[{item.callspec.id.removeprefix(where).removeprefix('-')}]"
    for found in DIFFERENCES:
        if profile in found.profiles and {item.originalname, case} & set(found.tests):
            # The stack has the same LocalStack in a container: to see it fail once is enough.
            again = profile != "compose"
            mark = (
                pytest.mark.xfail(reason=found.why, run=again) if found.fails else pytest.mark.skip(found.why)
            )
            item.add_marker(mark)
