"""The user of a connection to topics."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from emulator.listeners.control.routing import ApiError
from emulator.topics.configuration import User
from rdss_sandbox.shapes.topics import OURS

_ANYBODY: Final = "anonymous"


class Users:
    """Identifies users: ``configured`` ones by bearer tokens, and where none are, by the name they give."""

    def __init__(self, configured: tuple[User, ...]) -> None:
        self._configured = configured

    def identify(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """Return the user's name. Raises ApiError for an unknown token and for a reserved name."""
        if self._configured:
            given = headers.get("authorization", "").encode()
            for user in self._configured:
                if hmac.compare_digest(given, f"Bearer {user.token}".encode()):
                    return user.name
            why = "topics ask for a user's token here: authorization: Bearer <token>"
            raise ApiError(HTTPStatus.UNAUTHORIZED, "token_needed", why)
        name = headers.get("x-user-id") or query.get("user_id") or _ANYBODY
        if name == OURS:
            raise ApiError(HTTPStatus.FORBIDDEN, "reserved_user", f"the user {name!r} is the sandbox itself")
        return name
