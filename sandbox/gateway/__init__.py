"""The Message Gateway: how an application sends messages, whatever the queue underneath."""

from sandbox.gateway.gateway import Gateway, Machine, SendFailedError, SendRefusedError

__all__ = ["Gateway", "Machine", "SendFailedError", "SendRefusedError"]
