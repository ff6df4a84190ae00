"""One service of moto, as the store of all services sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from emulator.journal import Change
from emulator.services.touched import Touched


class KeptService(Protocol):
    """What a service holds, as keys and values. moto is imported when any of these is called."""

    name: str

    def install(self) -> None:
        """Change moto, in this whole process, so that it says what it touches."""

    def restore(self, values: Mapping[bytes, bytes]) -> None:
        """Put stored values into moto, whose service is empty."""

    def changes(self, touched: Touched, units: Iterable[Any], /) -> Iterator[Change]:
        """Yield what ``touched`` has changed, of which ``units`` is known."""

    def everything(self) -> Iterator[Change]:
        """Yield every key with its present value."""

    def settle(self) -> None:
        """Release what only changes that are now stored had in use."""

    def forget(self) -> None:
        """Forget what was stored: the service is empty, and its log too."""

    def close(self) -> None:
        """Close the files that it has besides the log."""
