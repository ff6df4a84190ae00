"""Fan-out consumers: registered, described, listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.emulator.kinesis.engine_calls import Calls

SOON = 60
"""Seconds within which a test comes to look."""

ZERO = "shardId-000000000000"


def register(api: Calls, name: str = "c") -> str:
    arn: str = api("RegisterStreamConsumer", StreamARN=api.arn, ConsumerName=name)["Consumer"]["ConsumerARN"]
    return arn


def test_a_consumer_is_registered_described_listed_and_deregistered(api: Calls) -> None:
    """By its ARN, or by the stream's ARN and its name."""
    api.create()
    arn = register(api)

    consumer = api("DescribeStreamConsumer", ConsumerARN=arn)["ConsumerDescription"]
    created = consumer["ConsumerCreationTimestamp"]
    assert created == pytest.approx(api.clock.time(), abs=SOON)
    assert arn == f"{api.arn}/consumer/c:{int(created)}"
    consumer = {
        "ConsumerName": "c",
        "ConsumerARN": arn,
        "ConsumerStatus": "ACTIVE",
        "ConsumerCreationTimestamp": created,
    }
    described = {"ConsumerDescription": consumer | {"StreamARN": api.arn}}
    assert api("DescribeStreamConsumer", ConsumerARN=arn) == described
    assert api("DescribeStreamConsumer", StreamARN=api.arn, ConsumerName="c") == described
    assert api("ListStreamConsumers", StreamARN=api.arn)["Consumers"] == [consumer]
    api.refuses(
        "ResourceInUseException",
        "already exists",
        "RegisterStreamConsumer",
        StreamARN=api.arn,
        ConsumerName="c",
    )
    api("DeregisterStreamConsumer", ConsumerARN=arn)
    api.refuses("ResourceNotFoundException", "not found", "DescribeStreamConsumer", ConsumerARN=arn)
    api.refuses("InvalidArgumentException", "must be specified", "DescribeStreamConsumer", ConsumerName="c")


def test_listing_consumers_pages(api: Calls) -> None:
    """A token goes on where the page ended."""
    api.create()
    for name in ("b", "c", "a"):
        register(api, name)

    first = api("ListStreamConsumers", StreamARN=api.arn, MaxResults=2)
    rest = api("ListStreamConsumers", StreamARN=api.arn, MaxResults=2, NextToken=first["NextToken"])

    names = [consumer["ConsumerName"] for page in (first, rest) for consumer in page["Consumers"]]
    assert names == ["a", "b", "c"]
    assert "NextToken" not in rest
