"""S3, SQS and DynamoDB of a sandbox, with a workload that is cut."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from botocore.exceptions import ClientError

from emulator.assembly.damage import describe_damage
from emulator.assembly.embedded import embedded
from emulator.buckets.objects.kept_bodies import KeptBodies
from emulator.journal import DamagedLogError
from emulator.rng import Draws
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from tests.emulator.services.conftest import client_of
from tests.power.cut_runs import Found
from tests.power.recorded_disk import RecordedDisk


class Services:
    """Objects that are put and deleted, items and messages."""

    name = "services"

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        small = patch.dict(KeptBodies.__init__.__kwdefaults__ or {}, file_bytes=30_000)
        with small, embedded(_settings(disk.folder, fsync=fsync)) as emulator:
            s3, sqs = (client_of(emulator.aws, name) for name in ("s3", "sqs"))
            with closing(s3), closing(sqs):
                _make(disk, lambda: s3.create_bucket(Bucket="mine"))
                url = _make(disk, lambda: sqs.create_queue(QueueName="jobs"))["QueueUrl"]
                for number in range(24):
                    key = f"object {chance.randrange(6)}"
                    if chance.random() < 0.2:
                        with disk.asking({key: None}, ClientError):
                            s3.delete_object(Bucket="mine", Key=key)
                        continue
                    body = b"%d|" % number + chance.randbytes(chance.choice((20, 9000)))
                    with disk.asking({key: body}, ClientError):
                        s3.put_object(Bucket="mine", Key=key, Body=body)
                    if number % 4 == 0:
                        with disk.asking({f"message {number}": b"there"}, ClientError):
                            sqs.send_message(QueueUrl=url, MessageBody=f"message {number}")

    def read(self, folder: Path, *, fsync: bool) -> Found:
        try:
            with embedded(_settings(folder, fsync=fsync)) as emulator:
                s3, sqs = (client_of(emulator.aws, name) for name in ("s3", "sqs"))
                with closing(s3), closing(sqs):
                    found = dict(_read(s3, sqs))
                events = emulator.components.events.since(0, 10_000)
                return Found(found, [line for each in events if (line := describe_damage(each))])
        except DamagedLogError as error:
            return Found({}, (), str(error))


def _settings(folder: Path, *, fsync: bool) -> Settings:
    return Settings(
        data_dir=folder, fsync=fsync, aws_port=0, control_port=0, amqp="none", topology=Topology()
    )


def _make(disk: RecordedDisk, make: Callable[[], Any]) -> Any:
    """Make something, once more where the one call that fails was of it."""
    with disk.asking({}, ClientError):
        return make()
    return make()


def _read(s3: Any, sqs: Any) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    if "mine" in [each["Name"] for each in s3.list_buckets()["Buckets"]]:
        for each in s3.list_objects_v2(Bucket="mine").get("Contents", ()):
            # Of an object whose bytes are lost, the answer says so.
            with suppress(ClientError):
                found[each["Key"]] = s3.get_object(Bucket="mine", Key=each["Key"])["Body"].read()
    for url in sqs.list_queues().get("QueueUrls", ()):
        while came := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            found |= {each["Body"]: b"there" for each in came}
    return found
