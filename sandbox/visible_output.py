"""Standard output and standard error of commands: the one place where text leaves for a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from rdss_sandbox.text.visible_text import visible_lines

if TYPE_CHECKING:
    from rich.console import Console


class VisibleOutput:
    """A text stream in front of ``unescaped`` that shows what a terminal would obey.

    Bytes, which are data for programs, are shown so on a terminal only.
    """

    def __init__(self, unescaped: TextIO) -> None:
        self.unescaped = unescaped

    def write(self, text: str) -> int:
        # Bytes are refused as every text stream refuses them.
        return self.unescaped.write(visible_lines(text) if isinstance(text, str) else text)

    @property
    def buffer(self) -> Any:
        """The stream of bytes below it."""
        return _VisibleBytes(self.unescaped.buffer) if self.unescaped.isatty() else self.unescaped.buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unescaped, name)


class _VisibleBytes:
    def __init__(self, unescaped: Any) -> None:
        self._unescaped = unescaped

    def write(self, data: bytes) -> int:
        text = bytes(data).decode("utf-8", "backslashreplace")
        self._unescaped.write(visible_lines(text).encode())
        return len(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._unescaped, name)


@contextmanager
def visible_output() -> Iterator[None]:
    """Put both streams behind ``VisibleOutput`` while the context lasts."""
    before: tuple[Any, Any] = sys.stdout, sys.stderr
    shown: tuple[Any, Any] = VisibleOutput(before[0]), VisibleOutput(before[1])
    sys.stdout, sys.stderr = shown
    try:
        yield
    finally:
        # Who has put another stream there meanwhile, as a test does, keeps it.
        if (sys.stdout, sys.stderr) == shown:
            sys.stdout, sys.stderr = before


def styled_stream(stream: TextIO) -> TextIO:
    """The stream below ``stream``, for what makes its own text visible and adds a style."""
    return stream.unescaped if isinstance(stream, VisibleOutput) else stream


def has_colour(stream: TextIO) -> bool:
    """Whether styles are wanted there (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def make_console(*, stderr: bool = False, **given: Any) -> Console:
    """Make a console of Rich whose styles are its own, and whose text is visible."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class VisibleConsole(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible_lines(text), style, control)

    return VisibleConsole(file=styled_stream(sys.stderr if stderr else sys.stdout), stderr=stderr, **given)


@contextmanager
def progress_bar() -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar on standard error, if that is a terminal.

    Yields what moves it, by a word on what is done now and the share of all that is done.
    """
    from rich import progress

    text = progress.TextColumn("{task.description:<46}")
    columns = (progress.SpinnerColumn(), text, progress.BarColumn(), progress.TimeElapsedColumn())
    talk = make_console(stderr=True)
    with progress.Progress(*columns, console=talk, transient=True, disable=not talk.is_terminal) as shown:
        task = shown.add_task("starting", total=1.0)
        yield lambda what, share: shown.update(task, description=what, completed=share)
