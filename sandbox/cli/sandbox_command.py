"""The ``sandbox`` command: a click group over the table of commands that imports each on first use."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from rdss_sandbox.extension import import_place
from sandbox.cli.command_table import COMMANDS
from sandbox.cli.groups import LazyGroup


class RegistryGroup(LazyGroup):
    """Lists the commands of the registry; imports a command when it is run or its help is shown."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        command = import_place(row.place)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name from the table, since to import all of them takes a second."""
        named = [
            CompletionItem(name, help=row.help)
            for name, row in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.help) for name, row in COMMANDS.items()])


@click.group(
    "sandbox",
    cls=RegistryGroup,
    # With colour, click takes no escape out of what is printed: they are all made visible.
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 110,
        "show_default": True,
        "color": True,
    },
)
@click.version_option(package_name="rdss-sandbox", prog_name="sandbox")
@click.pass_context
def sandbox(context: click.Context) -> None:
    """Everything an RDSS messaging integration talks to, on this machine, with the bad days on demand.

    Start with sandbox up. Point any AWS client at it, or send a message with sandbox send. Then break
    something with sandbox fault add. Exit codes: 0 pass, 1 fail, 2 usage, 3 environment, 4 inconclusive.
    """
    from sandbox.cli.options.contract import bind_contract

    bind_contract(context.invoked_subcommand)
