"""What a person runs: the command line, profiles, gateway, receiver, simulated applications, pipeline."""

import logging

# Errors are logged with their codes (specification, Error Codes); whoever wants to see them adds a handler.
logging.getLogger(__name__).addHandler(logging.NullHandler())
