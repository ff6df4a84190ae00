"""Reports what was lost before this start: as events, on standard error and in the status's notes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from emulator.assembly.data_directory import DataDirectory
from emulator.events import Events
from emulator.journal import Log, Loss, put_aside
from emulator.journal.aside import FOLDER, list_put_aside
from emulator.journal.format_mark import FORMAT
from emulator.journal.inventory import NAME as INVENTORY
from rdss_sandbox.installed_extensions import list_extensions
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.text.figures import counted, size

_HELD: Final = {
    "events.log": "what happened before",
    "positions.log": "how far the audit log had copied; what it has is copied again",
    "streams/state.log": "the names and shards of the streams",
    "amqp/state.log": "the names of the exchanges and queues that were published to",
    "broker/definitions.log": "the exchanges, queues and bindings of the AMQP port",
    "services/dynamodb.log": "the tables of DynamoDB, with their items",
    "services/s3.log": "the buckets of S3, with the names and versions of their objects",
    "services/sqs.log": "the queues of SQS, with their messages",
    "services/sns.log": "the topics and subscriptions of SNS",
    "services/ssm.log": "the parameters of SSM",
    "services/cloudwatch.log": "the alarms of CloudWatch",
    "inventory.log": "the list of logs: whether others are missing is not known",
}


def report_losses(directory: DataDirectory, events: Events, log: Log) -> None:
    """Emit an event for each lost log, and put aside the files that mean nothing without it."""
    if directory.taken_over:
        events.emit("journal.taken_over", directory=str(directory.path), format=FORMAT)
    if log.torn_bytes:
        events.emit("journal.cut", file=str(log.path), bytes=log.torn_bytes)
    if torn := directory.inventory.torn_bytes:
        events.emit("journal.cut", file=str(directory.path / INVENTORY), bytes=torn)
    for loss in directory.inventory.losses:
        events.emit(
            "journal.lost", file=str(directory.path / loss.path), how=loss.how, held=_describe_content(loss)
        )
    for file, to, why in directory.put_aside:
        events.emit("journal.put_aside", file=str(file), to=str(to), why=why)
    for path, how in directory.payloads.missing:
        held = "the data of records that refer to it, of which sandbox repair keeps the others,"
        events.emit("journal.lost", file=str(path), how=how, held=held)
    if directory.inventory.loss_of(directory.broker / "definitions.log") is not None:
        for path in sorted([*directory.broker.glob("*.log"), *directory.broker.glob("*.packed")]):
            to = put_aside(path, directory.path)
            why = "the queues of these messages are lost"
            events.emit("journal.put_aside", file=str(path), to=str(to), why=why)


def describe_takeover(directory: DataDirectory) -> tuple[str, ...]:
    """Describe for people that the directory was made by a version that wrote no mark of its format."""
    if not directory.taken_over:
        return ()
    taken = (
        f"the data directory {directory.path} did not say its format: it was taken over as format {FORMAT}"
    )
    return (f"{taken}. Do not open it with an older version, which does not see what this one compresses",)


def describe_put_aside(root: Path) -> str | None:
    """Describe for people what was ever put aside below ``root`` and is still there; None for nothing."""
    found = list_put_aside(root)
    if not found:
        return None
    bytes_there = size(sum(path.stat().st_size for path in found))
    folders = sorted({str(_folder_of(path)) for path in found})
    return (
        f"{counted(len(found), 'file')} ({bytes_there}) put aside, because of damage, below "
        f"{' and '.join(folders)}: remove what nobody needs"
    )


def _folder_of(path: Path) -> Path:
    return next(each for each in path.parents if each.name == FOLDER)


def describe_damage(event: Event) -> str | None:
    """Describe an event of damage in one line; None for any other event."""
    fields = event.fields
    match event.kind:
        case "journal.lost":
            return f"{fields['file']} {fields['how']}: {fields['held']} is gone"
        case "journal.put_aside":
            return f"{fields['file']} was put aside as {fields['to']}: {fields['why']}"
        case "journal.cut":
            shard = f" ({fields['shard']} of {fields['stream']})" if "shard" in fields else ""
            return f"{fields['file']}{shard}: {fields['bytes']} bytes at its end were not written whole: cut"
        case "journal.damaged":
            return str(fields["why"])
    return None


def keep_damage(lines: list[str], event: Event) -> None:
    """Add the line of an event of damage, once; a subscriber of the event stream."""
    if (found := describe_damage(event)) is not None and found not in lines:
        lines.append(found)


def _describe_content(loss: Loss) -> str:
    path = Path(loss.path)
    known = {**_HELD, **{at: held for each in list_extensions() for at, held in each.held.items()}}
    if (held := known.get(loss.path)) is not None:
        return held
    if path.parts[0] == "services":
        return "what is in some objects of S3, which are still listed,"
    first = 0
    with suppress(ValueError):
        first = int(path.stem)
    if (held := known.get(f"{path.parts[0]}/")) is not None:
        return held.format(first=first)
    if path.parts[0] in {"streams", "amqp"}:
        return f"the records of a shard, from number {first} on"
    return "what it held"
