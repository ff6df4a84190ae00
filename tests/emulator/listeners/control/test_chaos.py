"""LocalStack's chaos rules, as scripts written for it send them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from emulator.assembly.embedded import Embedded
from emulator.channels.kinesis import connect
from rdss_sandbox.client import Client

FAULTS = "/_localstack/chaos/faults"
EFFECTS = "/_localstack/chaos/effects"


def put(emulator: Embedded) -> Any:
    client = connect(emulator.aws)
    try:
        return client.put_record(StreamName="input", Data=b"{}", PartitionKey="k")
    finally:
        client.close()


def test_a_rule_fails_calls_until_it_is_removed(emulator: Embedded, http: httpx.Client) -> None:
    """The error that the rule names, with its status; DELETE with the same rule ends it."""
    error = {"statusCode": 400, "code": "ProvisionedThroughputExceededException"}
    rule = {"service": "kinesis", "region": "us-east-1", "operation": "PutRecord", "error": error}
    assert http.post(FAULTS, json=[rule]).json()[0]["operation"] == "PutRecord"
    with pytest.raises(ClientError) as refused:
        put(emulator)
    assert refused.value.response["Error"]["Code"] == "ProvisionedThroughputExceededException"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert http.request("DELETE", FAULTS, json=[rule]).json() == []
    assert put(emulator)["SequenceNumber"]


def test_an_empty_rule_fails_everything_with_503(emulator: Embedded, http: httpx.Client, api: Client) -> None:
    """What is left out is any; the rules are faults like others, with their counts."""
    http.post(FAULTS, json=[{}])
    with pytest.raises(ClientError, match="ServiceUnavailable"):
        put(emulator)
    assert {fault.name: fault.injected for fault in api.faults()} == {
        "chaos-1-deliver": 0,
        "chaos-1-publish": 1,
    }


def test_post_replaces_and_patch_adds(http: httpx.Client) -> None:
    """As LocalStack has it: POST is the whole list, PATCH more of it, DELETE without a body all of it."""
    assert len(http.post(FAULTS, json=[{"probability": 0.1}, {"probability": 0.2}]).json()) == 2
    assert http.post(FAULTS, json=[{"probability": 0.5}]).json() == [{"probability": 0.5}]
    assert len(http.patch(FAULTS, json=[{"operation": "GetRecords"}]).json()) == 2
    assert http.get(FAULTS).json()[1] == {"operation": "GetRecords"}
    assert http.delete(FAULTS).json() == []


def test_effects_are_latency_in_milliseconds(http: httpx.Client, api: Client) -> None:
    """Every call takes longer; 0 ends it, and does not touch the rules."""
    http.post(FAULTS, json=[{"probability": 0.5, "operation": "PutRecord"}])
    assert http.post(EFFECTS, json={"latency": 250}).json() == {"latency": 250}
    assert api.fault("chaos-latency-publish").attributes["delay"] == 0.25
    assert http.post(EFFECTS, json={"latency": 0}).json() == http.get(EFFECTS).json() == {"latency": 0}
    assert [fault.name for fault in api.faults()] == ["chaos-1-publish"]


def test_a_reset_ends_them(http: httpx.Client) -> None:
    """After POST /reset there are no rules, and a new one is the only one."""
    http.post(FAULTS, json=[{}])
    http.post("/reset")
    assert http.get(FAULTS).json() == []
    assert http.patch(FAULTS, json=[{"probability": 0.5}]).json() == [{"probability": 0.5}]


@pytest.mark.parametrize(
    "rule",
    [
        {"service": "s3"},
        {"operation": "CreateStream"},
        {"region": "eu-west-9"},
        {"probability": 2},
        {"who": 1},
    ],
)
def test_what_cannot_be_struck_is_refused(http: httpx.Client, rule: dict[str, Any]) -> None:
    """400 says what can be; the rules that were there stay."""
    http.post(FAULTS, json=[{"probability": 0.5}])
    answer = http.post(FAULTS, json=[rule])
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]
    assert http.get(FAULTS).json() == [{"probability": 0.5}]
