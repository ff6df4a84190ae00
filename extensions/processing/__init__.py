"""Asynchronous processing: a message from its arrival to the confirmation to its source system.

Every name is imported on first use, so that the start of a sandbox does not wait for what its first
asynchronous message needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from extensions.processing.calls import KeyKind
    from extensions.processing.intake import Receipt
    from extensions.processing.message_administration import Administration
    from extensions.processing.processing import Processing
    from extensions.processing.processing_errors import BusinessError, TechnicalError, ValidationError
    from extensions.processing.processing_parameters import AS_CODED, AS_WRITTEN, Limit, Parameters
    from extensions.processing.python_routes import Routes
    from extensions.processing.route_exchange import Child, Exchange
    from extensions.processing.simulated_systems import SimulatedSystem, SimulatedSystems
    from extensions.processing.stored_messages import Binding, Message, NewMessage
    from rdss_sandbox.shapes.processing import State

_HOMES: Final = {
    "calls": ("KeyKind",),
    "intake": ("Receipt",),
    "message_administration": ("Administration",),
    "processing": ("Processing",),
    "processing_errors": ("BusinessError", "TechnicalError", "ValidationError"),
    "processing_parameters": ("AS_CODED", "AS_WRITTEN", "Limit", "Parameters"),
    "python_routes": ("Routes",),
    "route_exchange": ("Child", "Exchange"),
    "simulated_systems": ("SimulatedSystem", "SimulatedSystems"),
    "stored_messages": ("Binding", "Message", "NewMessage"),
    "transitions": ("State",),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AS_CODED",
    "AS_WRITTEN",
    "Administration",
    "Binding",
    "BusinessError",
    "Child",
    "Exchange",
    "KeyKind",
    "Limit",
    "Message",
    "NewMessage",
    "Parameters",
    "Processing",
    "Receipt",
    "Routes",
    "SimulatedSystem",
    "SimulatedSystems",
    "State",
    "TechnicalError",
    "ValidationError",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
