"""What a document's contract costs: judging, the index, and PutRecords, beside RDSS and a bare validator.

Judging and the index are measured in processor time, which others on the machine disturb least.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import process_time
from timeit import repeat
from typing import Any, Final

import jsonschema_rs
import msgspec

from emulator.clock import stopwatch
from emulator.message_index.index import MessageIndex
from schemas.asyncapi.contract import AsyncApiContract
from schemas.asyncapi.load import load_contract
from schemas.contract import Contract, Sample
from schemas.rdss.contract import RDSS
from tests.bench.load import Connection, rendered
from tests.bench.rows import US, Row
from tests.bench.subjects import Start, Subject, running
from tests.emulator.message_index.test_index import FakeStreams

BARE: Final = "msgspec, jsonschema-rs"
MESSAGES: Final = 10
ROUNDS: Final = 60
_BATCH: Final = 500
_NOW: Final = 1_800_000_000.0
_JUDGED: Final = 20_000
_PARTS: Final = 10
_STREAM: Final = "input"
_AS_LARGE: Final = "PreservationEvent"
"""The kind of RDSS's messages that are as large as those of the document."""


def measure(rounds: int = ROUNDS, judged: int = _JUDGED) -> Iterator[Row]:
    """``rounds`` of calls and of indexing, RDSS and a document of ten messages in turn."""
    with tempfile.TemporaryDirectory() as folder:
        by_type, by_schema = (write_document(Path(folder), told_apart=each) for each in (True, False))
        for contract, how in ((by_type, "a type"), (by_schema, "its schema")):
            yield from _measure_judging(contract, f"told by {how}", judged)
        yield from _measure_index(by_type, rounds)
        yield from _measure_puts(by_type, rounds)


def write_document(folder: Path, *, told_apart: bool) -> AsyncApiContract:
    """Ten messages, each with some twenty fields and a list of objects: some 1 KB."""
    fields: dict[str, Any] = {f"text{at}": {"type": "string", "maxLength": 80} for at in range(10)}
    fields |= {f"number{at}": {"type": "integer", "minimum": 0} for at in range(10)}
    line = {
        "type": "object",
        "required": ["sku"],
        "properties": {"sku": {"type": "string"}, "n": {"type": "integer"}},
    }
    fields["lines"] = {"type": "array", "minItems": 12, "items": {**line, "additionalProperties": False}}

    def write(number: int) -> dict[str, Any]:
        kind = {"kind": {"const": f"kind-{number}"}} if told_apart else {f"kind{number}": {"type": "boolean"}}
        properties = {
            **kind,
            "id": {"type": "string"},
            "until": {"type": "string", "format": "date-time"},
            **fields,
        }
        return {"payload": {"type": "object", "required": list(properties), "properties": properties}}

    document = {
        "asyncapi": "3.0.0",
        "info": {"title": "Ten", "version": "1"},
        "x-sandbox": {"id": "$message.payload#/id", "expires": "$message.payload#/until"},
        "channels": {"ten": {"messages": {f"m{number}": write(number) for number in range(MESSAGES)}}},
    }
    path = folder / f"{told_apart}.json"
    path.write_bytes(msgspec.json.encode(document))
    return load_contract(path)


def _make(contract: Contract, count: int) -> list[Sample]:
    assert contract.samples is not None
    maker = contract.samples.from_seed(1, now=_NOW)
    if contract is RDSS:
        return [maker.message(_AS_LARGE) for _ in range(count)]
    return list(maker.stream(count))


def _measure_judging(contract: AsyncApiContract, how: str, judged: int) -> Iterator[Row]:
    """The whole verdict, beside decoding and a validator that is told which message it is."""
    sample = _make(contract, MESSAGES)[MESSAGES // 2].data
    schema = contract.declared.messages[MESSAGES // 2].payload
    is_valid = jsonschema_rs.validator_for(schema, validate_formats=True).is_valid
    decode = msgspec.json.Decoder().decode
    for subject, judge in (
        (US, partial(contract.judge, sample, now=_NOW)),
        (BARE, lambda: is_valid(decode(sample))),
    ):
        yield Row(f"judging {len(sample):,} bytes, {how}", subject, _time(judge, judged), "µs")


def _time(function: Callable[[], object], times: int) -> float:
    return (
        min(repeat(function, timer=process_time, number=times // _PARTS, repeat=7 * _PARTS))
        / times
        * _PARTS
        * 1e6
    )


def _measure_index(contract: Contract, rounds: int) -> Iterator[Row]:
    """By how much longer a message takes to be indexed than one of RDSS's of the same size."""
    messages = make_of_one_size(contract)
    took: dict[str, list[float]] = {name: [] for name in messages}
    for _ in range(rounds):
        for each in (RDSS, contract):
            streams = FakeStreams()
            streams.send(*messages[each.name], shards=4)
            index = MessageIndex(streams, contract=each)
            began = process_time()
            index.catch_up(seconds=60)
            took[each.name].append(process_time() - began)
            index.close()
    yield _compare("index", took, contract)


def _measure_puts(contract: AsyncApiContract, rounds: int) -> Iterator[Row]:
    """By how much longer a call takes at a sandbox of the document than at one of RDSS."""
    messages = make_of_one_size(contract)
    took: dict[str, list[float]] = {name: [] for name in messages}
    with ExitStack() as stack:
        connections = {}
        for each, options in ((RDSS, ()), (contract, ("--contract", str(contract.declared.document)))):
            found = stack.enter_context(running(Subject(each.name, partial(_start, options))))
            assert found is not None
            connections[each.name] = stack.enter_context(Connection(found.port))
            connections[each.name].call("CreateStream", {"StreamName": _STREAM, "ShardCount": 4})
        calls = {name: _render(samples[:_BATCH]) for name, samples in messages.items()}
        for name in islice(cycle(calls), rounds * len(calls) * 4):
            began = stopwatch()
            connections[name].send(calls[name])
            took[name].append(stopwatch() - began)
    yield _compare(f"PutRecords {_BATCH}", took, contract)


def _start(options: tuple[str, ...], port: int) -> Start:
    words = ["--aws-port", str(port), "--control-port", "0", "--amqp", "none", "--topology", "none"]
    return Start([sys.executable, "-m", "sandbox", "up", "--json", *words, "--data-dir", "data", *options])


def make_of_one_size(contract: Contract) -> dict[str, list[Sample]]:
    """Messages of RDSS and of the contract, made as large as the largest of them."""
    made = {each.name: _make(each, 2 * _BATCH) for each in (RDSS, contract)}
    size = max(len(sample.data) for samples in made.values() for sample in samples)
    return {
        name: [Sample(sample.data.ljust(size), sample.key) for sample in samples]
        for name, samples in made.items()
    }


def _render(samples: list[Sample]) -> bytes:
    records = [{"Data": base64.b64encode(each.data).decode(), "PartitionKey": each.key} for each in samples]
    return rendered("PutRecords", {"StreamName": _STREAM, "Records": records})


def _compare(what: str, took: dict[str, list[float]], contract: Contract) -> Row:
    times = median(one / other for one, other in zip(took[contract.name], took[RDSS.name], strict=True))
    return Row(f"{what}, {MESSAGES} messages, cost over RDSS", US, (times - 1) * 100, "%")
