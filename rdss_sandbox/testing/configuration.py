"""What a test asks of its sandbox: the words of the mark ``sandbox`` and of ``[tool.rdss-sandbox]``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, TypedDict

import msgspec

from rdss_sandbox.machine.project_table import ConfigurationError
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.text.timestamps import read_timestamp

SERVICES: Final = {
    "s3": "list_buckets",
    "dynamodb": "list_tables",
    "sqs": "list_queues",
    "sns": "list_topics",
    "ssm": "describe_parameters",
    "cloudwatch": "list_metrics",
    "sts": "get_caller_identity",
}
"""The AWS services besides Kinesis, each with a call that changes nothing."""


_SNAPSHOTS: Final = ".sandbox/data/snapshots"
"""Where ``sandbox snapshot save`` keeps them, in the directory of the sandbox."""


class Configuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a sandbox for tests is like.

    ``topology`` is ``default``, ``rdss``, ``none`` or the path of a file; ``contract`` is the path of the
    AsyncAPI document that says what messages are. ``seed`` is the seed of everything
    random, drawn by default. ``limits`` are ``relaxed``, or ``strict`` as AWS's. With
    ``lambda_loaders`` functions of its Lambda load the audit log and the archives. ``services`` are loaded
    before the test, so that their first call takes no longer than the others. ``faults`` are in force from
    the start: types, or whole faults. ``clock`` is the time that the clock shows at the start. ``snapshot``
    is the name of a snapshot that it begins as; ``snapshots`` is the folder where that is.
    """

    topology: str | None = None
    contract: str | None = None
    seed: int | None = None
    limits: Literal["relaxed", "strict"] | None = None
    lambda_loaders: bool = False
    services: tuple[str, ...] = ()
    faults: tuple[NewFault, ...] = ()
    clock: str | None = None
    snapshot: str | None = None
    snapshots: str = _SNAPSHOTS

    @property
    def options(self) -> tuple[str, ...]:
        """The options of ``sandbox up``. Sandboxes with the same ones can share a process."""
        folder = None if self.snapshot is None else self.snapshots
        given = (
            ("--topology", self.topology),
            ("--contract", self.contract),
            ("--limits", self.limits),
            ("--snapshots-from", folder),
        )
        flags = ("--lambda-loaders",) if self.lambda_loaders else ()
        return flags + tuple(word for option, value in given if value is not None for word in (option, value))

    @property
    def time(self) -> float | None:
        """The time of ``clock`` in seconds since the epoch."""
        return None if self.clock is None else read_timestamp(self.clock)


class GivenConfiguration(TypedDict, total=False):
    """What a ``Sandbox`` takes by name."""

    topology: str | None
    contract: str | None
    seed: int | None
    limits: str | None
    lambda_loaders: bool
    services: Iterable[str]
    faults: Iterable[str | Mapping[str, Any] | NewFault]
    clock: str | None
    snapshot: str | None


def read_configuration(where: str, *tables: Mapping[str, Any], directory: Path) -> Configuration:
    """Read a configuration from tables of its fields; a field of a later table wins.

    Files are found from ``directory``. Raises ``ConfigurationError``, which names ``where``.
    """
    merged: dict[str, Any] = {name: value for table in tables for name, value in table.items()}
    if not isinstance(merged.get("faults", ()), (str, bytes, Mapping)):
        merged["faults"] = [_read_fault(each) for each in merged.get("faults", ())]
    if isinstance(merged.get("clock"), datetime):
        merged["clock"] = merged["clock"].isoformat()
    try:
        found = msgspec.convert(merged, Configuration)
        _ = found.time
    except ValueError as error:
        fields = ", ".join(Configuration.__struct_fields__)
        raise ConfigurationError(f"{where}: {error}; a sandbox has {fields}") from error
    if unknown := set(found.services) - SERVICES.keys():
        there = ", ".join(SERVICES)
        raise ConfigurationError(f"{where}: no service {', '.join(sorted(unknown))}; there are {there}")
    files = {
        name: str(path.resolve())
        for name, written in (("topology", found.topology), ("contract", found.contract))
        if written is not None and (path := directory / written).is_file()
    }
    return msgspec.structs.replace(found, snapshots=str((directory / found.snapshots).resolve()), **files)


def _read_fault(written: Any) -> Any:
    """A fault from its type alone; a whole one as msgspec reads it."""
    if isinstance(written, str):
        return {"type": written}
    return msgspec.to_builtins(written) if isinstance(written, msgspec.Struct) else written
