"""What is written about settings is what is declared of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from emulator.settings.declarations import declared
from emulator.settings.reading import read_table, variable_of
from emulator.settings.settings import shapes
from sandbox.cli.environment.up import up
from sandbox.gateway import GatewaySettings
from tests.docs.settings_page import PAGE, of_sandbox, page

COMPOSE = Path(__file__).parents[2] / "compose/compose.yaml"
VARIABLE = re.compile(r"\$\{(SANDBOX_\w+):-([^}]*)\}")
BY_COMPOSE = {"SANDBOX_TOKEN", "SANDBOX_SEED", "SANDBOX_FAULTS", "SANDBOX_ACCESS"}
"""Variables that ``sandbox up`` draws or renders; whoever runs the file by hand gets what stands there."""


def test_the_page_is_made_of_the_declarations() -> None:
    """When this fails: python -m tests.docs.settings_page."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_option_of_up_is_declared() -> None:
    """But three, which say how it starts; and every declared option is there."""
    starting = {"detach", "timeout", "as_json"}
    options = {each.name: each.opts for each in up.params if each.name not in starting}
    assert options == {name: [each.option] for name, each in of_sandbox().items() if each.option}


@pytest.mark.parametrize("shape", [*shapes(), GatewaySettings])
def test_every_default_can_be_written_down(shape: type, tmp_path: Path) -> None:
    """Nothing given anywhere gives the usual values, which the fields' types allow."""
    (found,), given = read_table((shape,), "sandbox", {}, {}, tmp_path)
    assert given == set()
    wanted = {name: each.read(each.usual, tmp_path) for name, each in declared(shape).items()}
    assert {name: getattr(found, name) for name in wanted} == wanted


def test_the_stack_hands_on_what_applies_to_it_with_the_same_defaults() -> None:
    """Each variable of compose.yaml that is a setting, and each setting that is said to apply in compose."""
    given = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]["emulator"]["environment"]
    variables = {variable_of("sandbox", name): each for name, each in of_sandbox().items()}
    handed_on = dict(found for value in given.values() for found in VARIABLE.findall(str(value)))
    applying = {name for name, each in variables.items() if not each.setting.applies} - {"SANDBOX_PROFILE"}
    assert handed_on.keys() & variables.keys() == applying
    for name in applying - BY_COMPOSE:
        assert handed_on[name] in variables[name].told, name
