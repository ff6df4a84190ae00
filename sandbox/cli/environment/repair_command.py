from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sandbox.cli.options.setting_options import setting_option
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option, print_json

if TYPE_CHECKING:
    from emulator.assembly.repair import Repair


@click.command()
@setting_option("data_dir")
@click.option("--dry-run", is_flag=True, help="Change nothing; say what would be done.")
@json_option
def repair(data_dir: str | None, dry_run: bool, as_json: bool) -> None:
    """Make the data of a sandbox that cannot start readable again.

    What can be read of a damaged file is kept, and the file as it was is put aside below put-aside/ in the
    data directory. Nothing is deleted. The sandbox must not run.
    """
    from emulator.assembly.data_directory import DirectoryInUseError
    from emulator.settings.settings import read_settings

    place = read_settings({"data_dir": data_dir}, os.environ).data_dir
    if place is None or not Path(place).is_dir():
        raise CommandFailedError(f"there is no data directory {place or data_dir}", Exit.ENVIRONMENT)
    done: list[Repair] = []
    try:
        _repair(place, done, dry_run=dry_run, quiet=as_json)
    except DirectoryInUseError as error:
        raise CommandFailedError(f"{error}; sandbox down stops it", Exit.ENVIRONMENT) from error
    except BaseException:
        if as_json and done:
            print_json({"directory": str(place), "dry_run": dry_run, "repairs": done})
        raise
    if as_json:
        print_json({"directory": str(place), "dry_run": dry_run, "repairs": done})
    elif not done:
        click.echo(f"{place}: every file can be read")
    elif not dry_run:
        click.echo(f"sandbox status tells of what is below {Path(place, 'put-aside')} until you remove it")


def _repair(place: Path, done: list[Repair], *, dry_run: bool, quiet: bool) -> None:
    """Repair, and say each repair as soon as it is done: a later one may fail."""
    from emulator.assembly.repair import repair as repaired

    for each in repaired(place, dry_run=dry_run):
        done.append(each)
        if not quiet:
            click.echo(_line(each))


def _line(found: Repair) -> str:
    line = f"{found.file}: damaged at byte {found.position}, {found.reason}"
    if found.lost_bytes:
        line += f"; {found.lost_bytes} bytes cannot be read"
    if found.warning:
        line += f"; {found.warning}"
    lost = f", {found.lost} lost" if found.lost else ""
    if found.put_aside is None:
        return f"{line}; {found.kept} entries would be kept{lost}, and the file as it is put aside"
    return f"{line}; {found.kept} entries kept{lost}, the file as it was is {found.put_aside}"
