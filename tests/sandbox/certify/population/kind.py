"""What the population is made of: right clients of several shapes, and kinds of bugs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from sandbox.certify.attempt import Client
from sandbox.certify.certified_kinds import Certified
from sandbox.certify.clause import Group, Role
from sandbox.certify.history import Level
from sandbox.certify.told_lines import json_lines
from sandbox.certify.trial import Trial
from tests.real_clients import install

CLIENTS: Final = Path(__file__).parents[1] / "clients"
_REAL_CLIENTS: Final = Path(install.__file__).parent
_EXAMPLES: Final = Path(__file__).parents[4] / "examples/python"
_DELIVERY: Final = frozenset({Group.DELIVERY})
_FIELDS: Final = {Role.CONSUMER: "processed", Role.PRODUCER: "sent"}


class Shape(NamedTuple):
    """A right client of one way of working.

    ``needs`` is what ``tests.real_clients.install`` brings for it, nothing for a client with boto3 or pika.
    ``changes`` is the file of its bugs, and ``way`` what a program that is no command is certified with.
    """

    name: str
    role: Role
    channel: str
    program: Path
    needs: str = ""
    groups: frozenset[Group] = _DELIVERY
    changes: Path | None = None
    way: Callable[[Path], Certified] | None = None

    @property
    def id(self) -> str:
        """Its name among all shapes."""
        return f"{self.channel}-{self.role}-{self.name}"


class Kind(NamedTuple):
    """A kind of bug, and the clause that names it; ``changes/`` has what puts it into a shape.

    ``stages`` are those that show it. ``also`` are clauses that may fail with it, and ``finds`` the rules of
    the diagnosis that see it too.
    """

    name: str
    bug: str
    clause: str
    stages: tuple[str, ...]
    also: frozenset[str] = frozenset()
    finds: frozenset[str] = frozenset()
    groups: frozenset[Group] = frozenset()


class Part(NamedTuple):
    """The kinds of one role on one channel. ``name`` says for people what its clients are."""

    role: Role
    channel: str
    kinds: tuple[Kind, ...]
    name: str


def build_trial(
    shape: Shape,
    program: Path,
    *,
    seed: int = 1,
    patience: float = 8.0,
    only: tuple[str, ...] = (),
    groups: frozenset[Group] = frozenset(),
) -> Trial:
    """A trial of a program of this shape, up to gold, of the shape's groups and those given."""
    way = shape.way(program) if shape.way else None
    command = (
        (f"{program}:handler",)
        if way
        else (*_interpreter(shape.needs), str(program), *_arguments(shape.needs))
    )
    client = Client(command, json_lines(_FIELDS[shape.role]), patience)
    return Trial(
        shape.role,
        client,
        seed,
        Level.GOLD,
        shape.groups | groups,
        only=only,
        channel=shape.channel,
        way=way,
    )


def _interpreter(needs: str) -> tuple[str, ...]:
    """What runs a program. Raises ``OSError`` or ``CalledProcessError`` where it cannot be installed."""
    if needs in _NODE_PACKAGES:
        return (shutil.which("node") or "node",)
    if needs:
        return (str(install.python_environment(needs, _PYTHON_PACKAGES[needs]) / "python"),)
    return (sys.executable,)


def _arguments(needs: str) -> tuple[str, ...]:
    """For a program in JavaScript the folder of its packages."""
    if needs in _NODE_PACKAGES:
        return (str(install.node_packages(needs, *_NODE_PACKAGES[needs]).parent),)
    return ()


_NODE_PACKAGES: Final = {"javascript": install.JAVASCRIPT, "amqplib": install.AMQPLIB}
_PYTHON_PACKAGES: Final = {"aiobotocore": install.AIOBOTOCORE, "aio-pika": install.AIO_PIKA}
_BOTH: Final = frozenset(Group)

OWN_SHAPES: Final = (
    Shape("loop", Role.CONSUMER, "kinesis", CLIENTS / "right_consumer.py"),
    Shape("threads", Role.CONSUMER, "kinesis", CLIENTS / "threads_consumer.py"),
    Shape("transaction", Role.CONSUMER, "kinesis", CLIENTS / "transaction_consumer.py"),
    Shape("fan-out", Role.CONSUMER, "kinesis", CLIENTS / "fan_out_consumer.py"),
    Shape(
        "asynchronous",
        Role.CONSUMER,
        "kinesis",
        _REAL_CLIENTS / "certified_aiobotocore.py",
        "aiobotocore",
    ),
    Shape("JavaScript", Role.CONSUMER, "kinesis", _REAL_CLIENTS / "certified_consumer.mjs", "javascript"),
    Shape("contract", Role.CONSUMER, "kinesis", CLIENTS / "contract_consumer.py", groups=_BOTH),
    Shape("receiver", Role.CONSUMER, "kinesis", CLIENTS / "receiver_consumer.py", groups=_BOTH),
    Shape("batches", Role.PRODUCER, "kinesis", CLIENTS / "right_producer.py"),
    Shape("bulk", Role.PRODUCER, "kinesis", CLIENTS / "bulk_producer.py"),
    Shape("single", Role.PRODUCER, "kinesis", CLIENTS / "single_producer.py"),
    Shape("threads", Role.PRODUCER, "kinesis", CLIENTS / "threads_producer.py"),
    Shape("JavaScript", Role.PRODUCER, "kinesis", _REAL_CLIENTS / "certified_producer.mjs", "javascript"),
    Shape("contract", Role.PRODUCER, "kinesis", CLIENTS / "gateway_producer.py", groups=_BOTH),
    Shape("example", Role.PRODUCER, "kinesis", _EXAMPLES / "producer.py", groups=_BOTH),
    Shape("loop", Role.CONSUMER, "rabbitmq", CLIENTS / "right_queue_consumer.py"),
    Shape("fetching", Role.CONSUMER, "rabbitmq", CLIENTS / "fetching_queue_consumer.py"),
    Shape("asynchronous", Role.CONSUMER, "rabbitmq", CLIENTS / "asynchronous_queue_consumer.py"),
    Shape("transaction", Role.CONSUMER, "rabbitmq", CLIENTS / "batch_queue_consumer.py"),
    Shape("JavaScript", Role.CONSUMER, "rabbitmq", CLIENTS / "right_queue_consumer.mjs", "amqplib"),
    Shape("contract", Role.CONSUMER, "rabbitmq", CLIENTS / "contract_queue_consumer.py", groups=_BOTH),
    Shape("single", Role.PRODUCER, "rabbitmq", CLIENTS / "right_queue_producer.py", groups=_BOTH),
    Shape("batches", Role.PRODUCER, "rabbitmq", CLIENTS / "batch_queue_producer.py"),
    Shape(
        "asynchronous",
        Role.PRODUCER,
        "rabbitmq",
        CLIENTS / "asynchronous_queue_producer.py",
        "aio-pika",
    ),
    Shape("JavaScript", Role.PRODUCER, "rabbitmq", CLIENTS / "right_queue_producer.mjs", "amqplib"),
)
"""The right clients of this project."""
