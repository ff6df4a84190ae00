"""What durability costs: of a write, and of the first call to a service that has much."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import msgspec
import pytest

from emulator.clock import stopwatch
from emulator.journal import Change
from emulator.services.packing import pack, unpack
from emulator.services.service_log import open_log
from rdss_sandbox.process import RunningSandbox, sandbox_process
from tests.emulator.services.conftest import client_of
from tests.emulator.services.test_surviving import make_table

ROUNDS, WRITES = 9, 120
MOST_MORE: Final = 1.25
MOST_WAITING: Final = 2.0
"""By the clock, of two sandboxes in turns. A write that waits for the disk takes several times as long."""
ITEMS, OBJECTS = 100_000, 10_000
FIRST_CALL_SECONDS = 3.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def spent(pid: int) -> float:
    """The seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def put_item(client: Any, number: int) -> None:
    item = {"key": {"S": str(number)}, "checkpoint": {"S": "49590338271490256608559692538361571095"}}
    client.put_item(TableName="t", Item=item)


def put_object(client: Any, number: int) -> None:
    client.put_object(Bucket="mine", Key=str(number), Body=b"body" * 500)


class WriteCost(NamedTuple):
    """The processor seconds of a write, and by the clock the seconds of each round of writes."""

    processor: float
    rounds: list[float]


@pytest.mark.parametrize(("service", "put"), [("dynamodb", put_item), ("s3", put_object)])
def test_a_write_costs_at_most_a_quarter_more_than_in_memory(
    service: str, put: Callable[[Any, int], None], tmp_path: Path
) -> None:
    """Of a processor's time, with the rewriting of logs between; and no write waits for the disk."""
    in_memory, stored = write_costs(service, put, tmp_path)
    assert stored.processor < MOST_MORE * in_memory.processor, (stored.processor, in_memory.processor)
    slower = median(map(truediv, stored.rounds, in_memory.rounds))
    assert slower < MOST_WAITING, f"a write takes {slower:.2f} times as long"


def write_costs(
    service: str,
    put: Callable[[Any, int], None],
    folder: Path,
    rounds: int = ROUNDS,
    writes: int = WRITES,
) -> tuple[WriteCost, WriteCost]:
    """The cost of a write in memory, and of one that is stored in ``folder``.

    Two sandboxes are measured in turns, so that what else the machine does strikes both.
    """
    with ExitStack() as stack:
        places = (":memory:", str(folder))
        sandboxes = [stack.enter_context(sandbox_process("--data-dir", place)) for place in places]
        clients = [client_of(each.aws, service) for each in sandboxes]
        for client in clients:
            if service == "dynamodb":
                make_table(client, "t")
            else:
                client.create_bucket(Bucket="mine")
            put(client, 0)
        began = [spent(each.pid) for each in sandboxes]
        times: tuple[list[float], list[float]] = ([], [])
        for round_ in range(rounds):
            for client, taken in zip(clients, times, strict=True):
                before = stopwatch()
                for number in range(writes):
                    put(client, round_ * writes + number)
                taken.append(stopwatch() - before)
        costs = [
            (spent(each.pid) - before) / (rounds * writes)
            for each, before in zip(sandboxes, began, strict=True)
        ]
    return WriteCost(costs[0], times[0]), WriteCost(costs[1], times[1])


def test_the_first_call_of_a_service_that_has_much_answers_soon(tmp_path: Path) -> None:
    """10,000 objects and 100,000 items, by the clock or, on a busy machine, by the time of its processor."""
    fill_much(tmp_path, ITEMS, OBJECTS)
    with sandbox_process("--data-dir", str(tmp_path)) as sandbox:
        took = first_calls(sandbox, ITEMS, OBJECTS)
    assert max(took.values()) < FIRST_CALL_SECONDS, took


def fill_much(folder: Path, items: int, objects: int) -> None:
    """Write a data directory with so many items of a table, and objects of a bucket."""
    with sandbox_process("--data-dir", str(folder)) as sandbox:
        make_table(client_of(sandbox.aws, "dynamodb"), "t")
        put_item(client_of(sandbox.aws, "dynamodb"), 0)
        client_of(sandbox.aws, "s3").create_bucket(Bucket="mine")
        put_object(client_of(sandbox.aws, "s3"), 0)
    multiply(folder / "services" / "dynamodb.log", b"item", items, another_item)
    multiply(folder / "services" / "s3.log", b"version", objects, another_object)


def first_calls(sandbox: RunningSandbox, items: int, objects: int) -> dict[str, float]:
    """The seconds of the first call of each service, by the clock or by its processor if that is less."""
    dynamodb, s3 = client_of(sandbox.aws, "dynamodb"), client_of(sandbox.aws, "s3")
    took = {}
    began = spent(sandbox.pid), stopwatch()
    found = dynamodb.get_item(TableName="t", Key={"key": {"S": str(items - 1)}})["Item"]
    took["dynamodb"] = min(spent(sandbox.pid) - began[0], stopwatch() - began[1])
    assert found["key"] == {"S": str(items - 1)}
    began = spent(sandbox.pid), stopwatch()
    assert s3.get_object(Bucket="mine", Key=str(objects - 1))["Body"].read() == b"body" * 500
    took["s3"] = min(spent(sandbox.pid) - began[0], stopwatch() - began[1])
    return took


def multiply(path: Path, kind: bytes, count: int, another: Callable[[Any, Any, int], Change]) -> None:
    """Have a log hold its one value of a kind so many times, as different things."""
    log = open_log(path, fsync=False)
    values = log.read()
    (key,) = (key for key in values if kind in key)

    def all_of_them() -> Iterator[Change]:
        yield from values.items()
        for number in range(1, count):
            yield another(msgspec.msgpack.decode(key), unpack(values[key]), number)

    log.replace(all_of_them())
    log.close()


def another_item(key: list[Any], item: dict[str, Any], number: int) -> Change:
    name = {"S": str(number)}
    return msgspec.msgpack.encode([*key[:2], name]), pack({**item, "key": name})


def another_object(key: list[Any], version: dict[str, Any], number: int) -> Change:
    place = key[2] + number
    return msgspec.msgpack.encode([*key[:2], place]), pack({**version, "name": str(number), "kept_at": place})
