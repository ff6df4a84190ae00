"""The contract: JSON Schemas, the typed envelope, sequences, error codes, sample messages."""

from typing import Final

SPECIFICATION_VERSION: Final = "4.0.0"
"""The release of the RDSS Message API, and of its data model, that this package implements."""
