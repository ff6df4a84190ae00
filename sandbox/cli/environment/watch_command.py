"""``sandbox watch``, and the address of the page that it opens."""

from __future__ import annotations

import os
import webbrowser
from urllib.parse import quote

import click

from sandbox.cli.options.control_connection import connect, control_option, reach
from sandbox.cli.output.printing import json_option, print_line


@click.command()
@click.option("--no-open", is_flag=True, help="Print the address only.")
@control_option
@json_option
def watch(*, no_open: bool, control: str | None, as_json: bool) -> None:
    """Show in a browser what the running sandbox does, large enough for a class: print the address, open it.

    The page has the streams with their shards as lanes, their readers, the faults as they strike, what
    diagnosis finds, and the last error.
    """
    with connect(control) as client:
        client.version()  # is it there, and is this its token?
    address = watch_address(*reach(control))
    print_line({"address": address}, address, as_json=as_json)
    if not no_open and not _open(address):
        click.echo("no browser was found on this machine: open the address in one", err=True)


def watch_address(control: str, token: str | None) -> str:
    """The address of the watch page of the sandbox with this control API."""
    entry = f"?token={quote(token, safe='')}" if token else ""
    return f"{control.rstrip('/')}/{entry}"


def _open(address: str) -> bool:
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    # Without a display, Python finds a browser for terminals, which would take this one and run no script.
    # A person who names a browser gets that one.
    if type(browser) is webbrowser.GenericBrowser and "BROWSER" not in os.environ:
        return False
    return browser.open(address)
