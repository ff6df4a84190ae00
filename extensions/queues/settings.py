"""The settings of queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from emulator.settings.checks import check_port
from emulator.settings.declarations import setting
from extensions.queues.extension import EXTENSION

USUAL_PORT: Final = EXTENSION.ports["queues"].usual


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """Where queues are served, and whether subscribers are asked first."""

    queues_port: int | None = setting(
        0,
        "The port of queues (Zaqar).",
        metavar="N",
        usual=None,
        told=f"{USUAL_PORT}, or any free; 0: any free",
        check=check_port,
    )
    confirm_subscriptions: bool = setting(
        False,
        "Notify subscribers of queues only after they have agreed.",
        option="",
        applies="all but compose",
    )
