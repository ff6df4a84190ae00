"""Groups whose commands are made when they are asked for."""

from __future__ import annotations

import click


class LateGroup(click.Group):
    """A group that knows its commands by ``list_commands``, and suggests one for a name that it has not."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            name, there = error.command_name, self.list_commands(ctx)
            raise click.NoSuchCommand(name, self.unknown(name), there, ctx) from None

    def unknown(self, _name: str) -> str | None:
        """What to say of a name that it has not, before the suggestion; None for the usual."""
        return None
