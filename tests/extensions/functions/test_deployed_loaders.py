"""The loaders of the audit log and the archives as functions of the sandbox's Lambda."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
import pytest

from emulator.assembly.component import CannotRunError
from emulator.assembly.embedded import embedded
from emulator.clock import Clock
from emulator.settings.setting_errors import SettingsError
from emulator.settings.settings import Settings, read_settings
from rdss_sandbox.client import Client
from rdss_sandbox.testing import Sandbox
from rdss_sandbox.transports import RefusedError
from tests.emulator.faulted_brokers import NOON
from tests.extensions.functions.conftest import Aws
from tests.waiting import wait_until

BUCKETS = ("rdss-audit", "rdss-error", "rdss-invalid")
HALF_A_DAY = 12 * 3600.0


class Archived:
    """A sandbox in a folder, on a clock that stands still, and what is in the buckets that it fills."""

    def __init__(self, folder: Path, *, deployed: bool) -> None:
        self._folder = folder
        self._deployed = deployed
        self.found: list[dict[str, bytes]] = []

    def live(self, start: float, *rounds: list[tuple[str, int]]) -> None:
        """One life: in each round so many messages to each stream, two reshards and half a day."""
        settings = Settings(
            aws_port=0, control_port=0, data_dir=self._folder, seed=7, lambda_loaders=self._deployed
        )
        with embedded(settings, Clock(frozen_at=start)) as emulator, Client(emulator.control) as control:
            self._aws = Aws(emulator)
            control.drain_audit()
            for each in rounds:
                for stream, count in each:
                    self._send(stream, count)
                    assert control.drain_audit().pending == 0
                for stream in ("input", "audit"):
                    self._split(stream)
                emulator.components.clock.advance(HALF_A_DAY)
            self.found.append(self._read_objects())
            status = control.audit_status()
            assert status.objects == sum(key.startswith("rdss-audit") for key in self.found[-1])

    def _send(self, stream: str, count: int) -> None:
        records = [{"Data": b'{"n":%d}' % each, "PartitionKey": stream} for each in range(count)]
        answer = self._aws.client("kinesis").put_records(StreamName=stream, Records=records)
        assert answer["FailedRecordCount"] == 0

    def _split(self, stream: str) -> None:
        kinesis = self._aws.client("kinesis")
        shard = kinesis.list_shards(StreamName=stream)["Shards"][-1]
        low, high = (int(shard["HashKeyRange"][f"{end}HashKey"]) for end in ("Starting", "Ending"))
        kinesis.split_shard(
            StreamName=stream, ShardToSplit=shard["ShardId"], NewStartingHashKey=str((low + high) // 2)
        )

    def _read_objects(self) -> dict[str, bytes]:
        s3 = self._aws.client("s3")
        names = [
            (bucket, found["Key"])
            for bucket in BUCKETS
            for found in s3.list_objects_v2(Bucket=bucket).get("Contents", ())
        ]
        return {
            f"{bucket}/{key}": s3.get_object(Bucket=bucket, Key=key)["Body"].read() for bucket, key in names
        }


def test_the_objects_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    """Through two reshards of the audit stream, over midnight, and again after a restart of the sandbox."""
    both = [Archived(tmp_path / name, deployed=deployed) for name, deployed in (("own", False), ("it", True))]
    for each in both:
        each.live(NOON, [("input", 300), ("error", 7)], [("input", 200), ("invalid", 3)], [("output", 40)])
        each.live(NOON + 4 * HALF_A_DAY, [("input", 20), ("error", 2)])
    own, deployed = both
    assert [len(found) for found in own.found] == [len(found) for found in deployed.found]
    assert own.found == deployed.found
    assert {key.partition("/")[0] for key in own.found[0]} == set(BUCKETS)


def list_names(aws: Aws) -> list[str]:
    return [each["FunctionName"] for each in aws.lambda_.list_functions()["Functions"]]


def put(aws: Aws, stream: str, data: bytes) -> None:
    aws.client("kinesis").put_record(StreamName=stream, Data=data, PartitionKey="k")


def keep(folder: Path | None, *, deployed: bool) -> Settings:
    return Settings(aws_port=0, control_port=0, data_dir=folder, lambda_loaders=deployed)


def test_a_client_of_lambda_sees_them(tmp_path: Path) -> None:
    """Functions, mappings and logs; a reset and a snapshot deploy them anew, and a start without the setting
    removes them."""
    with embedded(keep(tmp_path, deployed=True)) as emulator, Client(emulator.control) as control:
        aws = Aws(emulator)
        loaders = ["audit-loader", "error-loader", "invalid-loader"]
        assert list_names(aws) == loaders
        put(aws, "error", b"{}")
        control.drain_audit()
        control.snapshots.save("loaded")
        for again in (control.reset, lambda: control.snapshots.load("loaded")):
            again()
            put(aws, "error", b"{}")
            assert control.drain_audit().pending == 0
            assert list_names(aws) == loaders
            mappings = aws.lambda_.list_event_source_mappings()["EventSourceMappings"]
            assert sorted((each["EventSourceArn"].partition("/")[2], each["State"]) for each in mappings) == [
                ("audit", "Enabled"), ("error", "Enabled"), ("invalid", "Enabled"),
            ]  # fmt: skip
        groups = aws.client("logs").describe_log_groups()["logGroups"]
        assert "/aws/lambda/audit-loader" in [each["logGroupName"] for each in groups]
        assert "message.rejected" in [event.kind for event in control.events()]
    with embedded(keep(tmp_path, deployed=False)) as emulator, Client(emulator.control) as control:
        assert list_names(Aws(emulator)) == []
        assert control.drain_audit().pending == 0


def test_a_loader_that_does_not_load_is_named(tmp_path: Path) -> None:
    """By a drain, which would wait for ever; another function of its name ends the start."""
    with embedded(keep(tmp_path, deployed=True)) as emulator, Client(emulator.control) as control:
        aws = Aws(emulator)
        found = aws.lambda_.list_event_source_mappings(FunctionName="audit-loader")["EventSourceMappings"][0]
        aws.lambda_.update_event_source_mapping(UUID=found["UUID"], Enabled=False)
        put(aws, "input", b"{}")
        with pytest.raises(RefusedError, match="audit-loader is Disabl") as refused:
            control.drain_audit()
        assert refused.value.code == "loader_stopped"
        wait_until(lambda: aws.lambda_.get_event_source_mapping(UUID=found["UUID"])["State"] == "Disabled")
        aws.lambda_.update_event_source_mapping(UUID=found["UUID"], Enabled=True)
        assert control.drain_audit().pending == 0
    with embedded(keep(tmp_path, deployed=False)) as emulator:
        Aws(emulator).make("audit-loader", "def handler(event, context): pass")
    with (
        pytest.raises(CannotRunError, match="a function audit-loader already"),
        embedded(keep(tmp_path, deployed=True)),
    ):
        pass


def test_what_comes_through_amqp_to_an_archived_queue_is_loaded_as_well(tmp_path: Path) -> None:
    """In the process: it is in no stream of Kinesis that could be mapped."""
    with embedded(keep(tmp_path, deployed=True)) as emulator, Client(emulator.control) as control:
        emulator.components.amqp.record("error", [(b"{}", "key")])
        assert control.drain_audit().pending == 0
        listed = Aws(emulator).client("s3").list_objects_v2(Bucket="rdss-error")
        assert listed["KeyCount"] == 1


@pytest.mark.parametrize("relayed", [{"profile": "aws"}, {"upstream_aws": "http://127.0.0.1:4566"}])
def test_in_front_of_another_lambda_the_mapping_is_theirs(relayed: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="its functions and mappings are the upstream's"):
        read_settings({"lambda_loaders": True, **relayed}, {}, tmp_path)


def test_a_test_asks_for_them_by_a_word() -> None:
    """As for anything else of its sandbox."""
    with Sandbox(lambda_loaders=True):
        functions = boto3.client("lambda").list_functions()["Functions"]
    assert "audit-loader" in [each["FunctionName"] for each in functions]


def test_without_the_extension_they_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a sentence that says what is missing."""
    monkeypatch.setattr("emulator.assembly.components.import_parts", lambda _part: {})
    with (
        pytest.raises(SettingsError, match="install the extension functions"),
        embedded(keep(None, deployed=True)),
    ):
        pass
