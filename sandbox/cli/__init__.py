"""The command line: ``main`` runs a command and returns its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from rdss_sandbox.machine.platforms import explain_unsupported
from sandbox.cli.output.exit_codes import Exit, explain
from sandbox.cli.sandbox_command import sandbox
from sandbox.visible_output import visible_output

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``sandbox`` with these arguments, by default the process's own. Returns the exit code."""
    if unsupported := explain_unsupported():
        click.echo(f"sandbox: {unsupported}", err=True)
        return Exit.ENVIRONMENT
    with visible_output():
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        result = sandbox.main(arguments, prog_name="sandbox", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except BrokenPipeError:
        # The reader of our output closed the pipe. Python must not try to flush the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 -- no traceback, ever
        line, code = explain(error)
        click.echo(line if "\n" in line else f"sandbox: {line}", err=True, color=True)
        return code
    return result if isinstance(result, int) else 0
