"""The population: every kind of bug, and every shape that has it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from rdss_sandbox.installed_extensions import list_extensions
from sandbox.certify.clause import Role
from tests.sandbox.certify.population import (
    consumers_of_queues,
    consumers_of_streams,
    producers_of_queues,
    producers_of_streams,
)
from tests.sandbox.certify.population.changes import FOLDER, Hunk, apply, read_changes
from tests.sandbox.certify.population.kind import OWN_SHAPES, Kind, Part, Shape


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


_EXTENSIONS: Final = tuple(
    import_module(f"tests.extensions.{each.name}.certified_{each.name}")
    for each in list_extensions()
    if (Path(__file__).parents[3] / f"extensions/{each.name}/certified_{each.name}.py").exists()
)
SHAPES: Final[tuple[Shape, ...]] = (*OWN_SHAPES, *(shape for each in _EXTENSIONS for shape in each.SHAPES))
"""The right clients, those of extensions last."""
PARTS: Final[tuple[Part, ...]] = (
    Part(Role.CONSUMER, "kinesis", consumers_of_streams.KINDS, "consumers of a stream"),
    Part(Role.CONSUMER, "rabbitmq", consumers_of_queues.KINDS, "consumers of a queue"),
    Part(Role.PRODUCER, "kinesis", producers_of_streams.KINDS, "producers of a stream"),
    Part(Role.PRODUCER, "rabbitmq", producers_of_queues.KINDS, "producers of a queue"),
    *(part for each in _EXTENSIONS for part in each.PARTS),
)


def find_changes(shape: Shape) -> dict[str, tuple[Hunk, ...]]:
    """The hunks of each kind of bug that there is for a shape."""
    return read_changes(shape.changes or FOLDER / f"{shape.id}.diff")


def _find_wrong(part: Part) -> list[WrongClient]:
    shapes = [each for each in SHAPES if (each.role, each.channel) == (part.role, part.channel)]
    changes = {shape.id: find_changes(shape) for shape in shapes}
    return [
        WrongClient(kind, shape, changes[shape.id][kind.name])
        for kind in part.kinds
        for shape in shapes
        if kind.name in changes[shape.id]
    ]


WRONG: Final = tuple(client for part in PARTS for client in _find_wrong(part))
"""Every wrong client."""
