"""The Channel Adaptor: publishes the changes of an application that does not send messages itself."""

from sandbox.adaptor.adaptor import Adaptor, Polled
from sandbox.adaptor.application_api import ApplicationUnavailableError, Source
from sandbox.adaptor.mapping import Mapping, MappingError, read_mapping

__all__ = [
    "Adaptor",
    "ApplicationUnavailableError",
    "Mapping",
    "MappingError",
    "Polled",
    "Source",
    "read_mapping",
]
