"""Extensions are found by their entry points, and one that is broken breaks nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_MANIFEST = """
from rdss_sandbox.extension import Extension
EXTENSION = Extension(name="theirs", component="theirs.component:Theirs", settings="theirs.settings:Settings")
"""
_PROGRAM = """
from emulator.assembly.embedded import embedded
from emulator.settings.settings import read_settings
given = {"aws_port": 0, "control_port": 0, "data_dir": ":memory:", "amqp": "none"}
with embedded(read_settings(given, {})) as it:
    for note in it.notes:
        if "extension theirs" in note or "theirs" in note:
            print(note)
    print("theirs" in it.components.extensions, it.settings.find("colour"))
"""

_TOPOLOGY = """
from emulator.settings.settings import read_settings
print(sorted(read_settings({}, {}).topology.streams))
"""
_ORDERS = """
asyncapi: 3.0.0
info: {title: Orders, version: 1.0.0}
channels:
  orders: {address: orders, messages: {order: {$ref: '#/components/messages/order'}}}
operations: {}
components:
  messages:
    order:
      payload: {type: object, required: [order], properties: {order: {const: A-17}}}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with an installed package whose files the tests write."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "__init__.py").write_text(_MANIFEST)
    metadata = tmp_path / "theirs-1.0.dist-info"
    metadata.mkdir()
    entry = "[rdss_sandbox.extensions]\ntheirs = theirs:EXTENSION\n"
    (metadata / "entry_points.txt").write_text(f"[console_scripts]\nx = y:z\n\n{entry}")
    return tmp_path


def run(place: Path, program: str = _PROGRAM) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{place}"},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return ran.stdout.splitlines()


def write_settings(place: Path) -> None:
    (place / "theirs" / "settings.py").write_text(
        "from dataclasses import dataclass\n"
        "from emulator.settings.declarations import setting\n"
        "@dataclass(frozen=True)\n"
        "class Settings:\n"
        "    colour: str = setting('red', 'The colour.')\n"
    )


def test_an_extension_of_somebody_else_has_its_settings_and_its_component(place: Path) -> None:
    """Nothing of ours names it."""
    write_settings(place)
    (place / "sandbox.toml").write_text('[sandbox]\ncolour = "blue"\n')
    (place / "theirs" / "component.py").write_text(
        "from emulator.assembly.component import Component\n"
        "class Theirs(Component):\n"
        "    def __init__(self, components):\n"
        "        assert components.streams\n"
    )
    assert run(place) == ["True blue"]


def test_a_contract_of_somebody_else_is_chosen_by_its_name(place: Path) -> None:
    """The sandbox and the commands beside it judge by the document in the package."""
    (place / "theirs" / "__init__.py").write_text(
        "from rdss_sandbox.extension import Extension\n"
        "EXTENSION = Extension(name='theirs', contracts=('theirs:orders.yaml',))\n"
    )
    (place / "theirs" / "orders.yaml").write_text(_ORDERS)
    (place / "sandbox.toml").write_text('[sandbox]\ncontract = "orders"\n')
    assert run(place, _TOPOLOGY) == ["['audit', 'error', 'invalid', 'orders']"]
    assert run(place, "from sandbox.cli import main; main(['message', 'sample'])") == ['{"order":"A-17"}']


def test_one_that_cannot_be_loaded_is_named_in_a_line_and_the_rest_starts(place: Path) -> None:
    """With what was wrong; its settings, which can be read, are there."""
    write_settings(place)
    (place / "theirs" / "component.py").write_text("raise RuntimeError('no such luck')\n")
    assert run(place) == [
        "theirs.component:Theirs, of the extension theirs, could not be loaded: RuntimeError('no such luck')",
        "False red",
    ]


def test_a_manifest_that_cannot_be_loaded_is_named_in_a_line(place: Path) -> None:
    (place / "theirs" / "__init__.py").write_text("import there_is_no_such_package\n")
    (line, rest) = run(place)
    assert line.startswith("the extension theirs (theirs:EXTENSION) could not be loaded: ModuleNotFoundError")
    assert rest == "False None"


def test_one_whose_package_is_gone_is_not_there(place: Path) -> None:
    """As where a folder was deleted after its installation."""
    (place / "theirs" / "__init__.py").unlink()
    (place / "theirs").rmdir()
    assert run(place) == ["False None"]


def test_an_unreadable_file_of_another_package_breaks_nothing(place: Path) -> None:
    """Whoever wrote it: the sandbox finds the others."""
    write_settings(place)
    (place / "theirs" / "component.py").write_text(
        "from emulator.assembly.component import Component\n"
        "class Theirs(Component):\n"
        "    def __init__(self, components): pass\n"
    )
    metadata = place / "another-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_bytes(b"\xff\xfe[nothing]")
    assert run(place) == ["True red"]
