"""The contract: JSON Schemas, the typed envelope, sequences, error codes, sample messages."""

from typing import Final

SPECIFICATION_VERSION: Final = "4.0.0"
"""The release of the RDSS Message API, and of its data model, that this package implements."""
MAX_MESSAGE_BYTES: Final = 1_000_000
"""The specification's 1000KB: the most bytes of a whole serialised message in UTF-8."""
