"""The kinds of channel that a command works with, ours and those of extensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeVar

import click
from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])
_MISSING: Final = {
    "broker": "where in a sandbox its broker answers",
    "port": "at which port of a sandbox its broker answers",
    "certified": "how its clients are certified",
}


class KindOfChannel(click.ParamType[str]):
    """A kind that declares what is ``needed``. The kinds are imported when a value or the help needs them."""

    name = "kind"

    def __init__(self, needed: Literal["broker", "port", "certified"]) -> None:
        self._needed: Final = needed

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 -- click calls it
        return f"[{'|'.join(self._names())}]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from emulator.channels.kind_registry import KINDS

        if value not in self._names():
            why = f": its kind does not say {_MISSING[self._needed]}" if value in KINDS else ""
            self.fail(f"{value!r} is not one of {', '.join(self._names())}{why}", param, ctx)
        return value

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 -- click calls it
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]

    def _names(self) -> list[str]:
        from emulator.channels.kind_registry import list_kinds

        return list_kinds(self._needed)


def kind_option(command: F) -> F:
    """Add the option ``--kind``, for commands that open a channel of a running sandbox."""
    return click.option(
        "--kind",
        type=KindOfChannel("port"),
        default="kinesis",
        help="What the channel is made of.",
    )(command)
