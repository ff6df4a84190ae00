"""Who somebody is that asks for topics."""

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
    """With ``configured`` users a bearer token says who it is; without, anybody may say a name."""

    def __init__(self, configured: tuple[User, ...]) -> None:
        self._configured = configured

    def who(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """The user's name. Raises ApiError for a token or a name that will not do."""
        if self._configured:
            return self._known(headers.get("authorization", ""))
        name = headers.get("x-user-id") or query.get("user_id") or _ANYBODY
        if name == OURS:
            raise ApiError(HTTPStatus.FORBIDDEN, "reserved_user", f"the user {name!r} is the sandbox itself")
        return name

    def _known(self, given: str) -> str:
        for user in self._configured:
            if hmac.compare_digest(given.encode(), f"Bearer {user.token}".encode()):
                return user.name
        why = "topics ask for a user's token here: authorization: Bearer <token>"
        raise ApiError(HTTPStatus.UNAUTHORIZED, "token_needed", why)
