from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sandbox.cli.exit_codes import CommandFailedError, Exit
from sandbox.cli.printing import json_option, print_json
from sandbox.cli.setting_options import setting_option

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
    from emulator.assembly.repair import repair as repaired
    from emulator.settings.settings import read_settings

    place = read_settings({"data_dir": data_dir}, os.environ).data_dir
    if place is None or not Path(place).is_dir():
        raise CommandFailedError(f"there is no data directory {place or data_dir}", Exit.ENVIRONMENT)
    try:
        found = repaired(place, dry_run=dry_run)
    except DirectoryInUseError as error:
        raise CommandFailedError(f"{error}; sandbox down stops it", Exit.ENVIRONMENT) from error
    if as_json:
        print_json({"directory": str(place), "dry_run": dry_run, "repairs": found})
        return
    for each in found:
        click.echo(_line(each))
    if not found:
        click.echo(f"{place}: every file can be read")


def _line(found: Repair) -> str:
    said = f"{found.file}: damaged at byte {found.position}, {found.reason}"
    if found.lost_bytes:
        said += f"; {found.lost_bytes} bytes cannot be read"
    if found.put_aside is None:
        return f"{said}; {found.kept} entries would be kept, and the file as it is put aside"
    return f"{said}; {found.kept} entries kept, the file as it was is {found.put_aside}"
