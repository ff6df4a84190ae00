"""Ports that cannot be listened on: what is wrong, and what to do."""

from __future__ import annotations

import errno


def explain_bind_error(error: OSError, host: str, port: int, another: str) -> OSError:
    """Build the same error with a text for people; ``another`` says how to choose another port."""
    why = f"cannot listen on {host}:{port}: {error.strerror or error}"
    if error.errno == errno.EADDRINUSE:
        why = f"port {port} on {host} is in use; stop what listens there{another}"
    elif error.errno == errno.EACCES:
        why = f"port {port} on {host} needs privileges; choose one above 1023"
    return OSError(error.errno, why)
