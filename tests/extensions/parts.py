"""What tests of the whole sandbox do with each extension that is installed: fill it, change it, read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx

from emulator.assembly.components import Components
from emulator.assembly.embedded import Embedded
from rdss_sandbox.client import Client
from rdss_sandbox.installed_extensions import list_extensions
from sandbox.scenarios.scenario_client import Client as ScenarioClient


class Part:
    """An extension's part; each method does nothing, for it to override."""

    component: type[Any] | None = None
    """What a load of a snapshot calls ``load`` of."""
    files: Sequence[str] = ()
    """The beginnings of the names of its files in the data directory, once it is filled."""
    kept_names: Sequence[str] = ()
    """The keys of ``kept``, once it is filled."""
    logs: Sequence[str] = ()
    """Its logs, of which a repair keeps what can be read."""
    refusal = ""
    """What its port answers on a full disk; empty: it stores nothing by a request."""

    mistakes: Mapping[str, tuple[str, ScenarioClient, str]] = {}
    """By what a client does wrong: the scenario that finds it, the client, and the fact that tells."""

    def settings(self, folder: Path) -> Sequence[object]:
        """Settings that it needs, with files of theirs in the folder."""
        del folder
        return ()

    def fill(self, emulator: Embedded) -> None:
        """Put something into everything that it keeps."""

    def change(self, emulator: Embedded) -> None:
        """Change all of it."""

    def read(self, control: Client) -> Mapping[str, object]:
        """What there is, as clients see it."""
        del control
        return {}

    def kept(self, components: Components) -> Mapping[str, Sequence[bytes]]:
        """All that was acknowledged and can be read."""
        del components
        return {}

    def store(self, emulator: Embedded, client: httpx.Client) -> httpx.Response:
        """Have its port store some ten thousand bytes, where ``refusal`` says that it can."""
        raise NotImplementedError


PARTS: Sequence[Part] = [
    import_module(f"tests.extensions.{each.name}.part_{each.name}").PART
    for each in list_extensions()
    if (Path(__file__).parent / each.name / f"part_{each.name}.py").exists()
]
"""Of the extensions that are installed and keep anything."""
