"""Every error that the table of exit codes names is there."""

from __future__ import annotations

import importlib

import pytest

from sandbox.cli.output.exit_codes import CODES, explain


@pytest.mark.parametrize("name", CODES)
def test_an_error_of_the_table_is_an_exception_that_is_explained_in_its_own_words(name: str) -> None:
    module, _, error = name.rpartition(".")
    kind = getattr(importlib.import_module(module), error)
    assert issubclass(kind, Exception)
    raised = kind.__new__(kind)
    raised.args = ("the words",)
    line, code = explain(raised)
    assert code == CODES[name]
    assert line
    assert not line.startswith("unexpected")
