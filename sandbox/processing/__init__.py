"""Asynchronous processing: a message from its arrival to the confirmation to its source system."""

from sandbox.processing.administration import Administration
from sandbox.processing.calls import KeyKind
from sandbox.processing.errors import BusinessError, TechnicalError, ValidationError
from sandbox.processing.exchange import Child, Exchange
from sandbox.processing.intake import Receipt
from sandbox.processing.parameters import AS_CODED, AS_WRITTEN, Limit, Parameters
from sandbox.processing.processing import Processing
from sandbox.processing.python_routes import Routes
from sandbox.processing.simulated_systems import OutsideSystem, SimulatedSystems
from sandbox.processing.states import State
from sandbox.processing.stored_messages import Binding, Message, NewMessage

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
    "OutsideSystem",
    "Parameters",
    "Processing",
    "Receipt",
    "Routes",
    "SimulatedSystems",
    "State",
    "TechnicalError",
    "ValidationError",
]
