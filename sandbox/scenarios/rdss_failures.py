"""Failures as steps of a scenario of RDSS: broker, file or application fails at a message that is valid.

They cause the error codes that no message can cause alone. Each step is one message at the end of the
workload, and the process that fails at it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from emulator.rng import Chance
from rdss_sandbox.shapes.faults import NewFault
from sandbox.applications import InstitutionalRepository, PreservationSystem
from sandbox.download.download import Downloads
from sandbox.download.download_errors import DownloadError
from sandbox.download.file_source import Fetch
from sandbox.gateway import Gateway, Machine, SendFailedError
from sandbox.gateway.outbox import Outbox
from sandbox.receiver import Arrival, Rejects
from sandbox.receiver.assembled_receiver import BUCKETS
from sandbox.repository import Repository
from sandbox.scenarios.scenario import INPUT, OWN_MESSAGE, UNREACHABLE
from sandbox.scenarios.workload import Offered
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode, Queue
from schemas.rdss.peek import peek
from schemas.rdss.samples import Samples

if TYPE_CHECKING:
    from sandbox.scenarios.client_environment import ClientEnvironment

JSON = dict[str, Any]
Process = Callable[[Arrival, sqlite3.Connection], None]
_MACHINE: Final = Machine("rdss-sandbox-scenario", "localhost")
_CONTENT: Final = b"depth,reef\n3,no\n"
_WRONG_CHECKSUM: Final = "wrong-checksum.csv"


@dataclass(frozen=True, slots=True)
class MessageFailure:
    """What happens to a message of ``kind``: ``application`` fails, and its ``code`` is the outcome.

    The message refers to the ``file``, if any.
    """

    code: ErrorCode | None
    kind: str = "MetadataCreate"
    application: str = ""
    file: str = ""


FAILURES: Final[Mapping[str, MessageFailure]] = {
    OWN_MESSAGE: MessageFailure(None),
    UNREACHABLE: MessageFailure(ErrorCode.GENERR005),
    "missing-file": MessageFailure(ErrorCode.GENERR006, application="preservation", file="gone.csv"),
    "commits-and-fails": MessageFailure(ErrorCode.GENERR008, application="hasty"),
    "application-fails": MessageFailure(ErrorCode.GENERR009, application="broken"),
    "update-of-unknown": MessageFailure(ErrorCode.APPERRMET001, "MetadataUpdate", "repository"),
    "delete-of-unknown": MessageFailure(ErrorCode.APPERRMET002, "MetadataDelete", "repository"),
    "read-of-unknown": MessageFailure(ErrorCode.APPERRMET003, "MetadataRead", "repository"),
    "wrong-checksum": MessageFailure(
        ErrorCode.APPERRMET004, application="preservation", file=_WRONG_CHECKSUM
    ),
}


def make_failing(names: tuple[str, ...], seed: int, now: float, due: float) -> Iterator[Offered]:
    """Make the message of each failure, in this order, ``due`` so many seconds after ``now``.

    ``now`` is in seconds since the epoch.
    """
    samples = Samples(Chance(seed).draws("scenario", "failures").randrange(1 << 32), now=now)
    for name in names:
        failure = FAILURES[name]
        message = samples.message(failure.kind, "dataset" if failure.file else None)
        while failure.kind == "MetadataRead" and message["messageHeader"]["messageClass"] == "Document":
            message = samples.message(failure.kind)
        if failure.file:
            body = message["messageBody"]
            body["objectFile"] = [_describe_file(failure.file, body["objectUUID"])]
        yield Offered(due, serialise(message), name, failure.code)


def failure_faults(failing: Mapping[str, str]) -> Iterator[NewFault]:
    """The faults of the failures, by messageId, that are of the broker."""
    for message_id, name in failing.items():
        if name == UNREACHABLE:
            when = {"match": {"messageId": message_id}}
            yield NewFault("error", name=name, channel=INPUT, direction="publish", when=when)


def send_failing(environment: ClientEnvironment, data: bytes, name: str) -> None:
    """Send the message of a failure: an own message by the application that will receive it.

    What cannot be sent in ten retries is rejected.
    """
    receives = name == OWN_MESSAGE
    store = environment.receiver_store if receives else environment.folder / "failing.sqlite3"
    with ExitStack() as stack:
        repository = stack.enter_context(closing(Repository(store, environment.clock)))

        def open_gateway(channel: str) -> Gateway:
            opened = stack.enter_context(closing(environment.open(channel)))
            return Gateway(opened, repository, environment.clock)

        try:
            open_gateway(INPUT).send_serialised(data)
        except SendFailedError as error:
            gateways = {str(queue): open_gateway(queue) for queue in Queue}
            rejects = Rejects(gateways, BUCKETS, environment.originals, environment.clock, _MACHINE)
            rejects.keep(data, error.code, str(error))
            rejects.flush()


@contextmanager
def failing_applications(environment: ClientEnvironment, repository: Repository) -> Iterator[Process]:
    """The receiving application, and those that fail at the messages of the failures."""
    clock, folder = environment.clock, environment.folder
    with closing(environment.open("output")) as output:
        outbox = Outbox(Gateway(output, repository, clock), clock, generator="a scenario", machine=_MACHINE)
        downloads = Downloads(folder / "staging", {"s3": _Files()}, clock)
        applications: dict[str, Process] = {
            "": environment.process,
            "repository": InstitutionalRepository(repository, outbox, clock),
            "preservation": PreservationSystem(repository, outbox, downloads, folder / "packages", clock),
            "hasty": _hasty,
            "broken": _broken,
        }

        def process(arrival: Arrival, store: sqlite3.Connection) -> None:
            name = environment.failing.get(peek(arrival.data).message_id or "")
            applications[FAILURES[name].application if name else ""](arrival, store)

        yield process


class _Files:
    """Serves one file; every other one is gone."""

    @contextmanager
    def fetch(self, location: str, start: int, tag: str | None) -> Iterator[Fetch]:
        if not location.endswith(_WRONG_CHECKSUM):
            raise DownloadError(f"{location}: there is no such file")
        yield Fetch(start, len(_CONTENT), tag, iter((_CONTENT[start:],)))


def _hasty(_arrival: Arrival, store: sqlite3.Connection) -> None:
    """An application that ends the transaction itself and then fails, so that no rollback is possible."""
    store.execute("COMMIT")
    raise RuntimeError("failed after its own commit")


def _broken(_arrival: Arrival, _store: sqlite3.Connection) -> None:
    raise RuntimeError("an application with a defect")


def _describe_file(key: str, uuid: str) -> JSON:
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
        "fileSize": len(_CONTENT),
        "fileChecksum": [checksum],
        "fileCompositionLevel": "0",
        "fileDateModified": ["2018-12-11T10:00:00Z"],
        "fileUse": "originalFile",
        "fileUploadStatus": "uploadComplete",
        "fileStorageStatus": "online",
        "fileStorageLocation": f"s3://rdss-files/{key}",
        "fileStoragePlatform": platform,
    }
