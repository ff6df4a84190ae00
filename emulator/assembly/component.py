"""What an extension has in a running sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TypeAlias

from emulator.http.admission.guard import AccessPolicy
from emulator.http.asgi import App

Saved: TypeAlias = Mapping[str, Sequence[bytes | memoryview]]
"""What was saved, by section."""


class CannotRunError(Exception):
    """An extension cannot run as it is set up: the start ends with this sentence."""


@dataclass(frozen=True, slots=True)
class ExtensionPort:
    """A port of an extension: its ``usual`` number, and the one that was asked for (see ``FallbackPort``).

    ``build`` makes its application, behind the guard with ``policy``; it may be called at the first request.
    """

    name: str
    usual: int
    asked: int | None
    build: Callable[[], App]
    policy: AccessPolicy


class Component:
    """What an extension has in a running sandbox; each method does nothing, for it to override.

    It is built from the ``Components`` of the sandbox, before that is populated and before any port opens,
    and raises ``CannotRunError``, ``SettingsError`` or OSError where it cannot be.
    """

    def ports(self) -> Sequence[ExtensionPort]:
        """The ports that are to open."""
        return ()

    def aws_services(self) -> Mapping[str, App]:
        """What answers on the AWS port, by the name of a service in signatures."""
        return {}

    def set_endpoint(self, aws: str) -> None:
        """Note the URL of the AWS port, which has opened."""

    def resources(self) -> Sequence[object]:
        """Its resources of the control API, whose methods are ``handles`` of declared endpoints."""
        return ()

    def start(self) -> None:
        """Begin to work, once every port is open. Raises ``CannotRunError``."""

    def stop(self) -> None:
        """Let go of clients and threads, before the ports close."""

    def close(self) -> None:
        """Close files, after the ports are closed."""

    def held(self) -> AbstractContextManager[object]:
        """Let nothing change while the context lasts. Streams and buckets are held after it."""
        return nullcontext()

    def emptied(self) -> AbstractContextManager[object]:
        """Like ``held``, for a load: what clients have open ends first."""
        return self.held()

    def save(self) -> Mapping[str, Sequence[bytes]]:
        """Copy the state by section, while it is held. Raises OSError."""
        return {}

    def load(self, saved: Saved, number: int) -> None:
        """Replace the state by what was saved, if anything was, while it is emptied. Raises OSError.

        ``number`` is higher than in any earlier load.
        """

    def resume(self) -> None:
        """Go on after a load, when everything else is loaded and held no more."""

    def reset(self) -> None:
        """Forget everything."""
