"""The population: every kind of bug, and every shape that has it."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from sandbox.certify.clause import Role
from tests.sandbox.certify.population import (
    consumers_of_queues,
    consumers_of_streams,
    producers_of_queues,
    producers_of_streams,
)
from tests.sandbox.certify.population.changes import Hunk, apply, read_changes
from tests.sandbox.certify.population.kind import SHAPES, Kind, Shape


class Part(NamedTuple):
    """The kinds of one role on one channel."""

    role: Role
    channel: str
    kinds: tuple[Kind, ...]


class WrongClient(NamedTuple):
    """A shape with a bug, which the changes put into its program."""

    kind: Kind
    shape: Shape
    changes: tuple[Hunk, ...]

    def write(self, folder: Path) -> Path:
        """Write the program. Raises ``ValueError`` where what is changed is not there once."""
        program = folder / self.shape.program.name
        text = apply(self.changes, self.shape.program.read_text(encoding="utf-8"))
        program.write_text(text, encoding="utf-8")
        contract = self.shape.program.with_name("contract.py")
        if contract.exists():  # what an example imports
            (folder / contract.name).symlink_to(contract)
        return program


PARTS: Final = (
    Part(Role.CONSUMER, "kinesis", consumers_of_streams.KINDS),
    Part(Role.CONSUMER, "rabbitmq", consumers_of_queues.KINDS),
    Part(Role.PRODUCER, "kinesis", producers_of_streams.KINDS),
    Part(Role.PRODUCER, "rabbitmq", producers_of_queues.KINDS),
)


def _find_wrong(part: Part) -> list[WrongClient]:
    shapes = [each for each in SHAPES if (each.role, each.channel) == (part.role, part.channel)]
    changes = {shape.id: read_changes(shape.id) for shape in shapes}
    return [
        WrongClient(kind, shape, changes[shape.id][kind.name])
        for kind in part.kinds
        for shape in shapes
        if kind.name in changes[shape.id]
    ]


WRONG: Final = tuple(client for part in PARTS for client in _find_wrong(part))
"""Every wrong client."""
