"""A click group whose commands are made on first use."""

from __future__ import annotations

import click


class LazyGroup(click.Group):
    """A group that knows its commands only by ``list_commands`` and suggests one for an unknown name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            name, there = error.command_name, self.list_commands(ctx)
            raise click.NoSuchCommand(name, self.unknown(name), there, ctx) from None

    def unknown(self, _name: str) -> str | None:
        """The message for an unknown name, before the suggestion; None for click's own."""
        return None
