"""PutRecord and PutRecords as the faults in force let them through."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from emulator.faults.fault import Failure, Item
from emulator.faults.fault_point import CallFailedError, FaultPoint
from emulator.faults.faulted_message import Message
from emulator.http.asgi import ClientGoneError
from emulator.kinesis.errors import KinesisError
from emulator.kinesis.scope import stream_named
from emulator.listeners.aws.interception import Proceed, Request, Response

_LARGEST_CALL: Final = 4_500_000


async def put_records(point: FaultPoint, request: Request, proceed: Proceed) -> Response:
    """Run PutRecords. Raises what ``build_error`` builds, and what ``proceed`` raises."""
    messages = [Message(entry["Data"], entry["PartitionKey"]) for entry in request["Records"]]
    call = point.plan_publish(stream_named(request) or "", messages, single=False)
    entries = dict(zip(call.items, request["Records"], strict=True))
    rest: Response = {}

    async def put(items: Sequence[Item], _turn: int) -> list[Response]:
        answers: list[Response] = []
        for some in _split(items):
            records = [{**entries[item], "Data": item.data} for item in some]
            rest.update(await proceed({**request, "Records": records}))
            answers += rest["Records"]
        # A hundred copies of a large batch are much work, so other requests get their turn in between.
        await asyncio.sleep(0)
        return answers

    try:
        outcomes = await point.publish(call, put, lambda answer: "ErrorCode" not in answer)
    except CallFailedError as failed:
        raise build_error(failed.failure) from failed
    answers = [
        {"ErrorCode": each.code, "ErrorMessage": each.message} if isinstance(each, Failure) else each
        for each in outcomes
    ]
    failed_count = sum("ErrorCode" in answer for answer in answers)
    return {**rest, "Records": answers, "FailedRecordCount": failed_count}


async def put_record(point: FaultPoint, request: Request, proceed: Proceed) -> Response:
    """Run PutRecord. Raises what ``build_error`` builds, and what ``proceed`` raises for the first put."""
    message = Message(request["Data"], request["PartitionKey"])
    call = point.plan_publish(stream_named(request) or "", [message], single=True)

    async def put(items: Sequence[Item], turn: int) -> list[Response | KinesisError]:
        await asyncio.sleep(0)
        try:
            return [await proceed({**request, "Data": items[0].data})]
        except KinesisError as error:
            if turn == 0:
                raise
            return [error]

    try:
        (outcome,) = await point.publish(call, put, lambda answer: not isinstance(answer, KinesisError))
    except CallFailedError as failed:
        raise build_error(failed.failure) from failed
    if isinstance(outcome, Failure):
        raise build_error(outcome)
    assert not isinstance(outcome, KinesisError)
    return outcome


def build_error(failure: Failure) -> Exception:
    """Build what answers a client whose call a fault fails: ClientGoneError or KinesisError."""
    if failure.kind == "cut":
        return ClientGoneError()
    return KinesisError(failure.code, failure.message, failure.status)


def _split(items: Sequence[Item]) -> Iterable[list[Item]]:
    """Group items, in order, so that each group fits one call: faults may have made messages longer."""
    group: list[Item] = []
    size = 0
    for item in items:
        if group and size + len(item.data) > _LARGEST_CALL:
            yield group
            group, size = [], 0
        group.append(item)
        size += len(item.data)
    if group:
        yield group
