"""Who may log in at the AMQP port: what clients give as their login is not what the broker behind it has."""

from __future__ import annotations

import hmac
from struct import Struct
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from emulator.amqp.wire.field_tables import TEXT, decode_table, plain_table
from emulator.amqp.wire.methods import ConnectionStartOk

_LENGTH: Final = Struct(">I")


class Entry(NamedTuple):
    """What clients log in with, and the ``user`` and ``password`` that the broker gets instead.

    Without a ``client_user`` any will do, and it is the only way in: nothing else comes to the broker. With
    one, other logins and other protocols pass as they are, and the broker refuses them.
    """

    client_password: str
    user: str
    password: str
    client_user: str | None = None

    @classmethod
    def by_token(cls, url: str, token: str) -> Entry:
        """The token for the credentials of the broker's URL, for any user."""
        return cls(token, *_credentials(url))

    @classmethod
    def by_usual_login(cls, url: str) -> Entry:
        """RabbitMQ's own ``guest`` with the password ``guest`` for the credentials of the broker's URL."""
        return cls("guest", *_credentials(url), client_user="guest")

    @property
    def is_only_way(self) -> bool:
        """Whether the broker gets nothing of a client that does not log in by this."""
        return self.client_user is None

    def exchanged(self, asked: ConnectionStartOk) -> ConnectionStartOk:
        """The login of a client (section 1.4.2.2 of the specification) as the broker gets it.

        With another login there is no password in it, or it is the client's own: the broker refuses it in its
        own words. Raises ``BadTableError`` and ``struct.error`` for a response that is none.
        """
        user, password = _login(asked.mechanism, asked.response)
        known = hmac.compare_digest(password, self.client_password.encode())
        if self.client_user is not None and not (known and user == self.client_user.encode()):
            return asked
        login = f"\0{self.user}\0{self.password if known else ''}".encode()
        return asked._replace(mechanism="PLAIN", response=login)


def _credentials(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return unquote(parts.username or "guest"), unquote(parts.password or "guest")


def _login(mechanism: str, response: bytes) -> tuple[bytes, bytes]:
    """The user and the password that a client gives; nothing in a mechanism that has none."""
    if mechanism == "PLAIN":
        _, user, password = (b"", b"", *response.split(b"\0"))[-3:]
        return user, password
    if mechanism == "AMQPLAIN":
        given = plain_table(decode_table(_LENGTH.pack(len(response)) + response)[0])
        user, password = (str(given.get(name, "")).encode(*TEXT) for name in ("LOGIN", "PASSWORD"))
        return user, password
    return b"", b""
