"""Errors as Lambda answers them."""

from __future__ import annotations


class LambdaError(Exception):
    """An error of the service: its ``code``, the HTTP ``status``, and more ``fields`` of its body."""

    def __init__(self, code: str, message: str, status: int = 400, **fields: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.fields = fields


class NotFoundError(LambdaError):
    """There is no such function, version, alias or mapping."""

    def __init__(self, message: str) -> None:
        super().__init__("ResourceNotFoundException", message, 404, Type="User")


class ConflictError(LambdaError):
    """It is there already, or is in use."""

    def __init__(self, message: str) -> None:
        super().__init__("ResourceConflictException", message, 409, Type="User")


class BadValueError(LambdaError):
    """A parameter has a value that cannot be."""

    def __init__(self, message: str) -> None:
        super().__init__("InvalidParameterValueException", message, 400, Type="User")


class ThrottledError(LambdaError):
    """No environment is free. ``reason`` is one of AWS's words for the limit that was reached."""

    def __init__(self, reason: str) -> None:
        super().__init__("TooManyRequestsException", "Rate Exceeded.", 429, Type="User", Reason=reason)


class InvocationCutError(LambdaError):
    """A fault cuts the connection over which an invocation was asked for: there is no answer."""

    def __init__(self) -> None:
        super().__init__("ServiceException", "The connection was cut.", 500, Type="Service")
