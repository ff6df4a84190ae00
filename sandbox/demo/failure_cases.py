"""Failure cases for the error codes that a message alone cannot cause: broker, file or application fails.

Their messages go to separate applications on a separate stream, so that the
verdict on the workload is not affected. GENERR006 occurs twice in a run: here a
file is missing, in the workload a message is oversize.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator.channels.kinesis import KinesisChannel
from emulator.clock import Clock
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault
from sandbox.applications import InstitutionalRepository, PreservationSystem
from sandbox.download import Downloads
from sandbox.download.s3 import S3Source
from sandbox.endpoint import Endpoint
from sandbox.gateway import Gateway, Machine, SendFailedError
from sandbox.gateway.outbox import Outbox
from sandbox.receiver import Arrival, Rejects, S3Originals
from sandbox.receiver.assembled_receiver import BUCKETS
from sandbox.receiver.over_kinesis import receiver_over_kinesis
from sandbox.repository import ArrivalStatus, Repository, Status
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode, Queue
from schemas.rdss.samples import Samples

STREAM = "applications"
UNREACHABLE = "unreachable"
BUCKET = "rdss-files"
PATIENCE_SECONDS = 20.0
_MACHINE = Machine("rdss-sandbox-demo", "localhost")

JSON = dict[str, Any]
Process = Callable[[Arrival, sqlite3.Connection], None]


@dataclass(frozen=True, slots=True)
class FailureCase:
    """A valid message, the application that receives it, and the code that it must be rejected with."""

    code: ErrorCode
    message: JSON
    application: str

    @property
    def message_id(self) -> str:
        return str(self.message["messageHeader"]["messageId"])


@dataclass(frozen=True, slots=True)
class FailuresSeen:
    """The expected number of rejects by code, and the number of own messages that an application dropped."""

    rejects: Counter[ErrorCode]
    echoes: int


def failure_cases(samples: Samples) -> list[FailureCase]:
    """Make a failure case for each code except GENERR005, which sending itself causes."""
    wrong, missing = (samples.message("MetadataCreate", "dataset") for _ in range(2))
    for message, key in ((wrong, "wrong-checksum.csv"), (missing, "gone.csv")):
        message["messageBody"]["objectFile"] = [_file(key, message["messageBody"]["objectUUID"])]
    asked = {kind: samples.message(kind) for kind in ("MetadataDelete", "MetadataRead")}
    while asked["MetadataRead"]["messageHeader"]["messageClass"] == "Document":
        asked["MetadataRead"] = samples.message("MetadataRead")
    return [
        FailureCase(ErrorCode.GENERR006, missing, "preservation"),
        FailureCase(ErrorCode.GENERR008, samples.message("MetadataCreate"), "hasty"),
        FailureCase(ErrorCode.GENERR009, samples.message("MetadataCreate"), "broken"),
        FailureCase(ErrorCode.APPERRMET001, samples.message("MetadataUpdate"), "repository"),
        FailureCase(ErrorCode.APPERRMET002, asked["MetadataDelete"], "repository"),
        FailureCase(ErrorCode.APPERRMET003, asked["MetadataRead"], "repository"),
        FailureCase(ErrorCode.APPERRMET004, wrong, "preservation"),
    ]


def run_failure_cases(
    endpoint: Endpoint, control: Client, folder: Path, clock: Clock, seed: int
) -> FailuresSeen:
    """Trigger every code that only a failure can cause, and return a message to its own sender.

    Raises as ``Gateway.send`` and ``Receiver.step``.
    """
    samples = Samples(seed, now=clock.time())
    arranged = failure_cases(samples)
    _arrange(endpoint, control)
    with closing(Repository(folder / "ordeals.sqlite3", clock)) as repository:
        _send_in_vain(endpoint, repository, samples.message("MetadataCreate"))
    control.remove_fault(UNREACHABLE)
    with (
        closing(Repository(folder / "applications.sqlite3", clock)) as repository,
        closing(KinesisChannel(endpoint.kinesis(), STREAM, clock=clock)) as channel,
    ):
        # The echo is sent first, so that it has arrived when all the others have.
        Gateway(channel, repository, clock).send(samples.message("MetadataCreate"))
        for case in arranged:
            channel.publish(serialise(case.message), case.message_id)
        _receive(endpoint, repository, folder, clock, arranged)
        echoes = repository.counted(ArrivalStatus.ECHO)
    return FailuresSeen(Counter([ErrorCode.GENERR005, *(case.code for case in arranged)]), echoes)


def _arrange(endpoint: Endpoint, control: Client) -> None:
    """Create a stream that refuses everything, one for the applications, and a file with a wrong checksum."""
    with closing(endpoint.kinesis()) as kinesis:
        for name in (STREAM, UNREACHABLE):
            kinesis.create_stream(StreamName=name, ShardCount=1)
        for name in (STREAM, UNREACHABLE):
            # In the emulator, a stream is active at once; elsewhere it takes a while.
            kinesis.get_waiter("stream_exists").wait(
                StreamName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
            )
    control.add_fault(NewFault(type="error", name=UNREACHABLE, channel=UNREACHABLE, direction="publish"))
    with closing(endpoint.s3()) as s3:
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="wrong-checksum.csv", Body=b"depth,reef\n3,no\n")


def _send_in_vain(endpoint: Endpoint, repository: Repository, message: JSON) -> None:
    """Send a message until its ten retries failed, on a clock whose waits take no time, and reject it."""
    hurried = Clock(autojump=True)
    with ExitStack() as stack:

        def open_gateway(name: str) -> Gateway:
            channel = stack.enter_context(
                closing(KinesisChannel(endpoint.kinesis(), name, clock=hurried, attempts=1))
            )
            return Gateway(channel, repository, hurried)

        originals = S3Originals(stack.enter_context(closing(endpoint.s3())))
        rejects = Rejects(
            {queue: open_gateway(queue) for queue in Queue}, BUCKETS, originals, hurried, _MACHINE
        )
        try:
            open_gateway(UNREACHABLE).send(message)
        except SendFailedError as error:
            rejects.keep(serialise(message), error.code, str(error))
        rejects.flush()


def _receive(
    endpoint: Endpoint, repository: Repository, folder: Path, clock: Clock, arranged: list[FailureCase]
) -> None:
    by_message = {case.message_id: case.application for case in arranged}
    with ExitStack() as stack:
        channel = stack.enter_context(closing(KinesisChannel(endpoint.kinesis(), "output", clock=clock)))
        s3 = stack.enter_context(closing(endpoint.s3()))
        gateway = Gateway(channel, repository, clock)
        outbox = Outbox(gateway, clock, generator="a demonstration", machine=_MACHINE)
        downloads = Downloads(folder / "staging", {"s3": S3Source(s3)}, clock)
        applications: dict[str, Process] = {
            "repository": InstitutionalRepository(repository, outbox, clock),
            "preservation": PreservationSystem(repository, outbox, downloads, folder / "packages", clock),
            "hasty": _hasty,
            "broken": _broken,
        }

        def process(arrival: Arrival, store: sqlite3.Connection) -> None:
            applications[by_message[arrival.header.message_id or ""]](arrival, store)

        receiver = stack.enter_context(receiver_over_kinesis(endpoint, STREAM, repository, process, clock))
        deadline = clock.elapsed() + PATIENCE_SECONDS

        def finished() -> bool:
            tally = repository.tally(STREAM).items()
            came = sum(count for (status, _, _), count in tally if status is Status.RECEIVED)
            return came == len(arranged) or clock.elapsed() > deadline

        receiver.run(finished)


def _hasty(_arrival: Arrival, store: sqlite3.Connection) -> None:
    """An application that ends the transaction itself and then fails, so that no rollback is possible."""
    store.execute("COMMIT")
    raise RuntimeError("failed after its own commit")


def _broken(_arrival: Arrival, _store: sqlite3.Connection) -> None:
    raise RuntimeError("an application with a defect")


def _file(key: str, uuid: str) -> JSON:
    checksum = {"checksumUUID": uuid, "checksumType": "md5", "checksumValue": "0" * 32}
    platform = {
        "storagePlatformUUID": uuid,
        "storagePlatformName": "S3",
        "storagePlatformType": "S3",
        "storagePlatformCost": "none",
    }
    return {
        "fileUUID": uuid,
        "fileIdentifier": key,
        "fileName": key,
        "fileSize": 16,
        "fileChecksum": [checksum],
        "fileCompositionLevel": "0",
        "fileDateModified": ["2018-12-11T10:00:00Z"],
        "fileUse": "originalFile",
        "fileUploadStatus": "uploadComplete",
        "fileStorageStatus": "online",
        "fileStorageLocation": f"s3://{BUCKET}/{key}",
        "fileStoragePlatform": platform,
    }
