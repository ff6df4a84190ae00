"""What reads each kind of file that the pages show: raises when it refuses one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from emulator.settings.reading import FILE_NAME
from emulator.settings.settings import read_settings
from rdss_sandbox.installed_extensions import GROUP
from rdss_sandbox.machine.project_table import read_project
from rdss_sandbox.testing.configuration import read_configuration
from sandbox.cli import main
from sandbox.learn.lesson import Front
from sandbox.scenarios.scenario import read_scenario
from schemas.asyncapi.load import load_contract
from tests.ci_schemas import check_schema
from tests.docs.pages import ROOT, Block
from tests.real_clients.install import JAVASCRIPT
from tui.keys.preferences import read as read_preferences


def _settings(path: Path) -> None:
    (path.parent / FILE_NAME).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    read_settings({}, {}, path.parent)


def _people(path: Path) -> None:
    from extensions.hub.people import PeopleFile

    assert PeopleFile(path).read_if_changed()


def _topics(path: Path) -> None:
    from extensions.topics.topic_configuration import read_configuration as read_topics

    read_topics(path)


def _topic_command(path: Path) -> None:
    from extensions.topics.engine import commands

    msgspec.json.decode(path.read_bytes(), type=commands.Command)


def _integration(path: Path) -> None:
    from extensions.processing.integration_file import read_integration

    read_integration(path)


def _offset(path: Path) -> None:
    positions = json.loads(path.read_text(encoding="utf-8"))
    assert positions
    for shard, position in positions.items():
        assert shard.startswith("shardId-")
        assert position in {"SHARD_END", "TRIM_HORIZON"} or (position.isdecimal() and len(position) == 56)


def _project(path: Path) -> None:
    """The table for the fixtures, as the pytest plugin reads it."""
    project = path.with_name("pyproject.toml")
    project.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    assert read_project(path.parent)
    read_configuration(project.name, read_project(path.parent), directory=path.parent)


def _package(path: Path) -> None:
    """The dependencies of a project in JavaScript are those that the tests install."""
    wanted = json.loads(path.read_text(encoding="utf-8"))["dependencies"]
    assert {f"{name}@{version.removeprefix('^')}" for name, version in wanted.items()} <= {*JAVASCRIPT}


def _extension(path: Path) -> None:
    """An object for the group in which extensions are found."""
    assert msgspec.toml.decode(path.read_bytes())["project"]["entry-points"][GROUP]


def _agent(path: Path) -> None:
    """Each server is a command of ours, with options that it has."""
    for server in json.loads(path.read_text(encoding="utf-8"))["mcpServers"].values():
        assert server["command"] == "sandbox"
        assert main([*server["args"], "--help"]) == 0


def _ci(schema: str) -> Callable[[Path], object]:
    """Check a file by the schema of the service that reads it, which check-jsonschema carries."""
    return lambda path: check_schema(schema, path)


def _contract_settings(path: Path) -> None:
    """Settings that name a document beside them: another one is there, in its place."""
    named = msgspec.toml.decode(path.read_bytes())["sandbox"]["contract"]
    shutil.copy(ROOT / "tests/sandbox/contract/orders.yaml", path.with_name(named))
    _settings(path)


LOADERS: dict[str, Callable[[Path], object]] = {
    "settings": _settings,
    "a project's table": _project,
    "a GitHub workflow": _ci("github-workflows"),
    "a GitLab pipeline": _ci("gitlab-ci"),
    "people": _people,
    "topics": _topics,
    "integration": _integration,
    "a lesson": lambda path: msgspec.toml.decode(path.read_bytes(), type=Front),
    "scenario": lambda path: read_scenario(path.name, path.read_text(encoding="utf-8")),
    "tui.toml": read_preferences,
    "a package.json": _package,
    "a contract": load_contract,
    "a contract's settings": _contract_settings,
    "a topic command": _topic_command,
    "an offset": _offset,
    "an extension": _extension,
    "the settings of an agent's program": _agent,
}


def load(block: Block, directory: Path) -> None:
    """Read a block as what its comment says it is. AssertionError when it says nothing that is known."""
    kind = block.said.get("loaded as", "")
    assert kind in LOADERS, f"{block.where}: say which loader reads it: {', '.join(LOADERS)}"
    path = directory / f"block.{block.language}"
    path.write_text(block.text, encoding="utf-8")
    LOADERS[kind](path)
    if kind == "integration" and "then" in block.said:
        from tests.extensions.processing.lived_integration import lived

        lived(path, block.said["then"])
