"""Time-outs of commands: the option ``--timeout`` and iteration up to a deadline.

A time-out is in real time, whatever the sandbox's clock shows.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias, TypeVar

import click

from rdss_sandbox.questions.deadline import Deadline
from rdss_sandbox.text.durations import seconds
from rdss_sandbox.text.timestamps import read_timestamp

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Callback: TypeAlias = Callable[[click.Context, click.Parameter, str | None], float | None]


def _reading(read: Callable[[str], float]) -> Callback:
    def convert(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
        try:
            return None if value is None else read(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return convert


duration: Final = _reading(seconds)
"""Parses a duration such as ``500ms`` or ``5m`` into seconds, as the callback of an option or argument."""
moment: Final = _reading(read_timestamp)
"""Parses a time, RFC 3339 or seconds since the epoch, as the callback of an option or argument."""


def timeout_option(help_text: str) -> Callable[[F], F]:
    """Add the option ``--timeout``; the command gets ``timeout`` in seconds, None for no limit."""
    return click.option("--timeout", metavar="TIME", callback=duration, help=help_text)


def within(deadline: Deadline, items: Iterable[T]) -> Iterator[T]:
    """Yield the items until their end or the deadline. Raises the errors of the iteration."""
    if deadline.left is None:
        yield from items
        return
    came: queue.SimpleQueue[tuple[T] | BaseException | None] = queue.SimpleQueue()

    def wait_for_items() -> None:
        try:
            for item in items:
                came.put((item,))
        except BaseException as error:  # noqa: BLE001 -- it is raised where the items are taken
            came.put(error)
        else:
            came.put(None)

    # A daemon thread, since it may wait for ever for an item that is no longer needed.
    threading.Thread(target=wait_for_items, name="items", daemon=True).start()
    while True:
        try:
            found = came.get(timeout=deadline.left)
        except queue.Empty:
            return
        if found is None:
            return
        if isinstance(found, BaseException):
            raise found
        yield found[0]
