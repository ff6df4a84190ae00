"""A running sandbox that a tape is replayed into: its streams and queues, their shards, and its refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from hashlib import blake2b, md5
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

from emulator.back_off import back_off
from emulator.channels.aws_answers import entry_outcome, publish_failure
from emulator.channels.channel import Outcome, PublishRefusedError, Receipt
from emulator.kinesis import hash_keys
from emulator.kinesis.batches import batches
from extensions.tape.amqp_publisher import AmqpPublisher
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.faults import FaultChange, NewFault
from rdss_sandbox.shapes.streams import Reshard
from rdss_sandbox.shapes.tape import TapedChannel, TapedMessage, TapedRefusal, TapedShard
from schemas.contract import Contract
from schemas.headers import leave_headers_out

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

KINESIS: Final = "kinesis"
RABBITMQ: Final = "rabbitmq"
_LONGEST_PAUSE: Final = 2.0
_FIRST_PAUSE: Final = 0.05
_TRIES: Final = 12
_PARTIAL: Final = frozenset({"InternalFailure", "ProvisionedThroughputExceededException"})
"""The codes of an entry of PutRecords."""
_FINAL: Final = frozenset({"ValidationException", "InvalidArgumentException", "ParamValidationError"})
_SERVER_ERRORS: Final = frozenset({"InternalFailure", "InternalServerError", "ServiceUnavailable"})


class ReplayTarget:
    """What a replay does to a sandbox.

    ``pause`` waits so many seconds before a refused put is tried again, and returns False to give it up.
    ``sent`` counts what was put, ``repeated`` the messages that were put again, ``lost`` those that were
    refused to the end.
    """

    def __init__(
        self,
        client: Client,
        kinesis: KinesisClient,
        open_amqp: Callable[[], AmqpPublisher],
        contract: Contract,
        pause: Callable[[float], bool],
    ) -> None:
        self._client = client
        self._kinesis = kinesis
        self._open_amqp = open_amqp
        self._amqp: AmqpPublisher | None = None
        self._contract = contract
        self._pause = pause
        self._streams = {stream.name for stream in client.streams()}
        self._ranges: dict[str, dict[str, TapedShard]] = {}
        self._kinds: dict[str, str] = {}
        self._refusing: dict[tuple[str, str, str], int] = {}
        self._stack = ExitStack()
        self.sent = self.repeated = self.lost = self.reshards = self.refusals = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in map(_name_fault, self._refusing):
            with suppress(RefusedError):
                self._client.remove_fault(name)
        self._stack.close()

    def name_kind(self, channel: str, kind: str) -> None:
        """Say what a channel is made of, whatever the tape says of its own."""
        self._kinds[channel] = kind

    def shape(self, channel: str, taped: TapedChannel) -> None:
        """Make a channel as it was on the tape: of that kind, and with those open shards."""
        if self._kinds.setdefault(channel, taped.kind) != taped.kind:
            return
        again = channel in self._ranges
        self._ranges[channel] = {shard.id: shard for shard in taped.shards}
        wanted = sorted(int(shard.first) for shard in taped.shards)
        if taped.kind != KINESIS or not wanted:
            return
        if channel not in self._streams:
            self._create(channel, wanted)
        present = self._list_firsts(channel)
        splits = [key for key in wanted if key not in present]
        merges = [key for key in present if key not in wanted]
        for key in splits:
            self._split(channel, key)
        for key in merges:
            self._merge(channel, key)
        self.reshards += again and bool(splits or merges)

    def prepare(self, channel: str, messages: Sequence[TapedMessage]) -> None:
        """Make a stream that is not there, and connect."""
        if self._find_kind(channel, messages) == KINESIS:
            if channel not in self._streams:
                self._create(channel, [0])
            self._kinesis.describe_stream_summary(StreamName=channel)

    def put(self, channel: str, messages: Sequence[TapedMessage]) -> None:
        """Put messages in one call, and what is refused again until it is taken."""
        left = list(messages)
        pauses = islice(back_off(_FIRST_PAUSE, _LONGEST_PAUSE), _TRIES)
        while left:
            outcomes = self._put_once(channel, left)
            taken = sum(isinstance(each, Receipt) for each in outcomes)
            self.sent += taken
            failed = [pair for pair in zip(left, outcomes, strict=True) if not isinstance(pair[1], Receipt)]
            wrong = [message for message, outcome in failed if _is_final(outcome)]
            if len(wrong) > 1:  # one of them made the whole call fail
                for each in wrong:
                    self.put(channel, [each])
            else:
                self.lost += len(wrong)
            left = [message for message, outcome in failed if not _is_final(outcome)]
            pause = next(pauses, None)
            if left and (pause is None or not self._pause(pause)):
                self.lost += len(left)
                return
            self.repeated += len(left)

    def refuse(self, channel: str, refusal: TapedRefusal) -> None:
        """Let the sandbox refuse the next such call, or as many of its messages as the upstream refused."""
        putting = refusal.operation.startswith("Put")
        if not putting and refusal.operation != "GetRecords":
            return
        self.refusals += 1
        partial = putting and refusal.code in _PARTIAL and refusal.records < refusal.of
        key = (
            channel,
            "publish" if putting else "deliver",
            f"partly {refusal.code}" if partial else refusal.code,
        )
        more = max(refusal.records, 1) if partial else 1
        known = self._refusing.get(key)
        self._refusing[key] = (known or 0) + more
        if known is not None:
            self._client.change_fault(_name_fault(key), FaultChange(limit=known + more))
            return
        attributes: dict[str, Any] = {"code": refusal.code}
        if not partial:
            failed = refusal.code in _SERVER_ERRORS
            attributes["status"] = int(HTTPStatus.INTERNAL_SERVER_ERROR if failed else HTTPStatus.BAD_REQUEST)
        self._client.add_fault(
            NewFault(
                type="partial_failure" if partial else "error",
                name=_name_fault(key),
                channel=f"{self._kinds.get(channel, KINESIS)}:{channel}",
                direction=key[1],
                attributes=attributes,
                limit=more,
            )
        )

    def _put_once(self, channel: str, messages: Sequence[TapedMessage]) -> list[Outcome]:
        if self._find_kind(channel, messages) != KINESIS:
            if self._amqp is None:
                self._amqp = self._open_amqp()
                self._stack.callback(self._amqp.close)
            return self._amqp.publish(channel, messages)
        if channel not in self._streams:
            self._create(channel, [0])
        outcomes: list[Outcome] = []
        begun = 0
        for batch in batches([(each.body or b"", each.key) for each in messages]):
            taped = messages[begun : begun + len(batch)]
            begun += len(batch)
            records: list[Any] = [self._make_record(channel, each) for each in taped]
            try:
                answer = self._kinesis.put_records(StreamName=channel, Records=records)
            except Exception as error:  # noqa: BLE001 -- every failure is the outcome of these messages
                outcomes += [publish_failure(error)] * len(taped)
            else:
                outcomes += [entry_outcome(dict(each)) for each in answer["Records"]]
        return outcomes

    def _find_kind(self, channel: str, messages: Sequence[TapedMessage]) -> str:
        """What a channel is made of; of one that the tape does not describe, only streams have shards."""
        return self._kinds.setdefault(channel, KINESIS if messages[0].shard else RABBITMQ)

    def _make_record(self, channel: str, message: TapedMessage) -> dict[str, Any]:
        """A record that goes to the shard that had the message, also where the key was redacted."""
        data = leave_headers_out(self._contract.headers, message.body or b"")
        record: dict[str, Any] = {"Data": data, "PartitionKey": message.key or "-"}
        shard = self._ranges.get(channel, {}).get(message.shard)
        if shard is not None:
            first, last = int(shard.first), int(shard.last)
            hashed = int.from_bytes(md5(record["PartitionKey"].encode(), usedforsecurity=False).digest())
            if not first <= hashed <= last:
                drawn = int.from_bytes(blake2b(record["PartitionKey"].encode(), digest_size=16).digest())
                record["ExplicitHashKey"] = str(first + drawn % (last - first + 1))
        return record

    def _create(self, stream: str, firsts: Sequence[int]) -> None:
        even = [first for first, _ in hash_keys.uniform(len(firsts))] == list(firsts)
        self._kinesis.create_stream(StreamName=stream, ShardCount=len(firsts) if even else 1)
        self._kinesis.get_waiter("stream_exists").wait(
            StreamName=stream, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
        )
        self._streams.add(stream)

    def _list_firsts(self, stream: str) -> list[int]:
        return sorted(int(each.starting_hash_key) for each in self._client.stream(stream).shards if each.open)

    def _split(self, stream: str, key: int) -> None:
        shard = next(
            each.id
            for each in self._client.stream(stream).shards
            if each.open and int(each.starting_hash_key) <= key <= int(each.ending_hash_key)
        )
        self._client.reshard(stream, Reshard("split", shard=shard, hash_key=str(key)))

    def _merge(self, stream: str, key: int) -> None:
        shards = {
            int(each.starting_hash_key): each for each in self._client.stream(stream).shards if each.open
        }
        right = shards[key]
        left = next(each for each in shards.values() if int(each.ending_hash_key) == key - 1)
        self._client.reshard(stream, Reshard("merge", shard=left.id, adjacent=right.id))


def _is_final(outcome: Outcome) -> bool:
    """Whether a message is refused for what it is, and so whenever it is put."""
    return isinstance(outcome, PublishRefusedError) and outcome.code in _FINAL


def _name_fault(key: tuple[str, str, str]) -> str:
    return "-".join(("replayed", *key)).replace(" ", "-")
