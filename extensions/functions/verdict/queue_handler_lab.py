"""The lab of a handler of a queue of SQS, whose redrive policy gives up what comes too often."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from extensions.functions.mappings.batches import failed_items
from extensions.functions.runtime.event_records import EventRecord
from extensions.functions.verdict.deployment import SIDE_BY_SIDE, Deployment
from extensions.functions.verdict.handler_lab import HandlerLab
from extensions.functions.watched_function import find_arn
from sandbox.certify.history import FinalShard, KeptRecord
from sandbox.certify.lab import ERROR, INPUT, INVALID
from schemas.contract import Contract, Sample

DEAD_LETTERS: Final = "dead-letters"
_VISIBILITY_SECONDS: Final = 600
_AT_ONCE: Final = 10


class QueueHandlerLab(HandlerLab):
    """A sandbox with a queue, which counts as one shard. SQS's own ids are the sequence numbers."""

    own_queues = frozenset({INPUT, DEAD_LETTERS})
    _sqs: Any
    _url: str
    _dead: str

    def __init__(self, deployment: Deployment, seed: int, contract: Contract) -> None:
        super().__init__(deployment, seed, contract)
        self._receipts: dict[str, str] = {}
        self._numbered: list[tuple[str, str | None]] = []

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "SANDBOX_QUEUE": INPUT}

    def put(self, messages: Iterable[Sample]) -> None:
        """Send messages to the queue."""
        every = list(messages)
        self.known.update(each.key for each in every if each.key)
        for start in range(0, len(every), _AT_ONCE):
            chosen = every[start : start + _AT_ONCE]
            entries = [
                {"Id": str(at), "MessageBody": each.data.decode(errors="replace")}
                for at, each in enumerate(chosen)
            ]
            for sent in self._sqs.send_message_batch(QueueUrl=self._url, Entries=entries)["Successful"]:
                message = chosen[int(sent["Id"])]
                self._numbered.append((sent["MessageId"], self.identify(*message)))
                self.history.put_at[INPUT, sent["MessageId"]] = self.now
                self.place_of[message.key] = INPUT

    def open_shards(self) -> list[str]:
        return [INPUT]

    def shard_of(self, message_id: str) -> str:  # noqa: ARG002 -- a queue has one place
        return INPUT

    @property
    def lanes(self) -> list[str]:
        return [INPUT] * SIDE_BY_SIDE

    def pass_time(self, seconds: float) -> None:
        """Have what was answered as failed visible again: SQS keeps the machine's time."""
        super().pass_time(seconds)
        receipts, self._receipts = list(self._receipts.values()), {}
        for start in range(0, len(receipts), _AT_ONCE):
            # Of those that are done with, it is answered that they are not there.
            self._sqs.change_message_visibility_batch(
                QueueUrl=self._url,
                Entries=[
                    {"Id": str(at), "ReceiptHandle": each, "VisibilityTimeout": 0}
                    for at, each in enumerate(receipts[start : start + _AT_ONCE])
                ],
            )

    def note_records(self, records: Sequence[EventRecord]) -> None:
        self._receipts |= {each.number: each.receipt for each in records}

    def list_done(self, answer: bytes, numbers: Sequence[str]) -> Sequence[str]:
        failed = failed_items(answer, numbers)
        return [each for each in numbers if each not in failed]

    def note_given_up(self) -> None:
        """Take the dead letters, and note that they were given up."""
        while found := self._sqs.receive_message(QueueUrl=self._dead, MaxNumberOfMessages=_AT_ONCE).get(
            "Messages"
        ):
            self.give_up([each["MessageId"] for each in found])
            for each in found:
                self._sqs.delete_message(QueueUrl=self._dead, ReceiptHandle=each["ReceiptHandle"])

    def settle_history(self) -> None:
        history = self.history
        self.note_given_up()
        history.shards.append(FinalShard(INPUT, (), tuple(self._numbered)))
        for stream, stored in ((ERROR, history.errors), (INVALID, history.invalid)):
            stored += [KeptRecord(self.identify(*each), each.data) for each in self.written(stream)]

    def _make_source(self) -> str:
        self._sqs = self.connect("sqs")
        self._dead = self._sqs.create_queue(QueueName=DEAD_LETTERS)["QueueUrl"]
        redrive = {
            "deadLetterTargetArn": find_arn(self.connect, f"queue {DEAD_LETTERS}"),
            "maxReceiveCount": str(self._deployment.retries + 1),
        }
        attributes = {"VisibilityTimeout": str(_VISIBILITY_SECONDS), "RedrivePolicy": json.dumps(redrive)}
        self._url = self._sqs.create_queue(QueueName=INPUT, Attributes=attributes)["QueueUrl"]
        return find_arn(self.connect, f"queue {INPUT}")
