"""Every store whose workload is cut: those of this folder, and those that extensions bring."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from rdss_sandbox.installed_extensions import list_extensions
from tests.power.broker_store import BrokerStore
from tests.power.cut_runs import DurableStore
from tests.power.journal_stores import EventStore, KeyedLogs, Snapshots, Streams
from tests.power.repository_store import Repositories
from tests.power.service_store import Services

_EXTENSIONS: Final = Path(__file__).parents[1] / "extensions"
STORES: Final[Sequence[DurableStore]] = (
    EventStore(),
    KeyedLogs(),
    Streams(),
    BrokerStore(),
    Services(),
    Snapshots(),
    Repositories(),
    *(
        import_module(f"tests.extensions.{each.name}.cut_{each.name}").STORE
        for each in list_extensions()
        if (_EXTENSIONS / each.name / f"cut_{each.name}.py").exists()
    ),
)
