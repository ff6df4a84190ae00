"""What a test without a mark runs on: nothing but Python and what every system has."""

from __future__ import annotations

import os
import re
import shutil
import tomllib

import pytest

from emulator.rabbitmq.broker_process import find_server
from tests.docs.pages import ROOT
from tests.programs import MARKS, NEEDS, browser_program, hidden


def test_a_test_without_a_mark_finds_no_server_no_java_and_no_browser() -> None:
    """Whatever this machine has: ``make test`` is the same on one that has nothing."""
    assert [name for name in sorted(hidden()) if shutil.which(name)] == []
    assert find_server(os.environ) is None
    assert "JAVA_HOME" not in os.environ


def test_what_else_is_on_path_is_found() -> None:
    """Only the programs are taken away, not the folders that they are in."""
    assert shutil.which("sh")
    assert shutil.which("sleep")


@pytest.mark.rabbitmq
def test_a_marked_test_finds_rabbitmq() -> None:
    assert find_server(os.environ) is not None


@pytest.mark.browser
def test_a_marked_test_finds_a_browser() -> None:
    assert shutil.which(browser_program())


def test_make_leaves_out_every_mark_that_is_declared() -> None:
    """A mark that ``make`` does not know would be run by a newcomer, and by nobody who wants the rest."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert {line.partition(":")[0] for line in options["markers"]} == {*MARKS}
    apart = re.search(r"^APART +:= (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert apart
    assert {*apart[1].split(" or ")} == {*MARKS}
    assert {*NEEDS} < {*MARKS}
