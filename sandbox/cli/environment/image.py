from __future__ import annotations

import click

from rdss_sandbox.machine.docker_connection import IMAGE
from sandbox.cli.output.printing import json_option, print_line


@click.command()
@click.option("--tag", default=IMAGE, metavar="NAME", help="The name of the image.")
@json_option
def image(tag: str, as_json: bool) -> None:
    """Build the sandbox's image with Docker, for tests that start it as a container.

    It needs no checkout. sandbox up --profile compose builds it by itself.
    """
    from sandbox.profiles import emulator_image

    emulator_image.build(tag)
    print_line({"image": tag}, f"built {tag}", as_json=as_json)
