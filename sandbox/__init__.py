"""The programs of the sandbox: command line, profiles, gateway, receiver, applications, pipeline."""

import logging

# Errors are logged with their codes (specification, Error Codes). An application adds a handler to see them.
logging.getLogger(__name__).addHandler(logging.NullHandler())
