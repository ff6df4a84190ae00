"""The control API's queues: their messages and claims, for the screens and the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Annotated, Any, Final

import msgspec

from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from emulator.queues.engine import Address, Found, Held, QueueEngine, QueuesError, SourceUnavailableError
from emulator.queues.engine.errors import BadValueError, ClaimNotThereError, NotThereError
from rdss_sandbox.shapes.queue_limits import PAGE
from rdss_sandbox.shapes.queues import (
    Claim,
    ClaimList,
    ClaimRenewal,
    MessageDeleted,
    NewClaim,
    Queue,
    QueueList,
    QueueMessage,
    QueueMessagePage,
    Released,
)
from schemas.peek import peek

_QUEUE: Final = "/queues/{project}/{queue}"


class MessageQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Messages with numbers above ``after``."""

    after: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class DeleteQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The claim that holds the message, if one does."""

    claim: str | None = None


class QueueResources:
    """``/queues``."""

    def __init__(self, engine: QueueEngine) -> None:
        self._engine = engine

    def routes(self) -> list[Route]:
        claims, claim, messages = f"{_QUEUE}/claims", f"{_QUEUE}/claims/{{claim}}", f"{_QUEUE}/messages"
        gone = f"{messages}/{{message}}"
        return [
            Route("GET", "/queues", "The queues", self._list, QueueList),
            Route("GET", messages, "The messages in a queue", self._messages, QueueMessagePage, MessageQuery),
            Route("DELETE", gone, "Delete a message", self._delete, MessageDeleted, DeleteQuery),
            Route("GET", claims, "Who holds what in a queue", self._claims, ClaimList),
            Route("POST", claims, "Claim messages", self._claim, ClaimList, body=NewClaim),
            Route("GET", claim, "A claim and its messages", self._held, Claim),
            Route("PATCH", claim, "Renew a claim", self._renew, Claim, body=ClaimRenewal),
            Route("DELETE", claim, "Release a claim", self._release, Released),
        ]

    def _list(self, _: Asked[Nothing, None]) -> QueueList:
        trouble = self._engine.refresh_views()
        found = (
            Queue(
                each.at.project,
                each.at.name,
                each.view,
                each.stats.total,
                each.stats.claimed,
                each.stats.free,
                each.claims,
                each.subscriptions,
                each.stats.oldest.created if each.stats.oldest else None,
            )
            for each in self._engine.queues.overview()
        )
        return QueueList(tuple(found), tuple(str(each) for each in trouble))

    def _messages(self, asked: Asked[MessageQuery, None]) -> QueueMessagePage:
        found: list[Found] = []
        after, wanted = asked.query.after, asked.query.limit
        with translate_errors():
            while wanted > len(found):
                limit = min(PAGE.most, wanted - len(found))
                page = self._engine.messages.page(
                    _at(asked), after=after, limit=limit, claimed=True, delayed=True
                )
                found += page
                if len(page) < limit:
                    break
                after = page[-1].message.number
        return QueueMessagePage(tuple(self._message(each) for each in found))

    def _delete(self, asked: Asked[DeleteQuery, None]) -> MessageDeleted:
        id_ = asked.path["message"]
        with translate_errors():
            self._engine.messages.get(_at(asked), id_)
            self._engine.messages.delete(_at(asked), id_, asked.query.claim)
        return MessageDeleted(id_)

    def _claims(self, asked: Asked[Nothing, None]) -> ClaimList:
        with translate_errors():
            return self._list_claims(self._engine.claims.list_holding(_at(asked)))

    def _claim(self, asked: Asked[Nothing, NewClaim]) -> ClaimList:
        new = asked.body
        with translate_errors():
            held = self._engine.claims.create(
                _at(asked), ttl=new.ttl, grace=new.grace, limit=new.limit, client=new.client
            )
        return self._list_claims([held] if held else [])

    def _held(self, asked: Asked[Any, Any]) -> Claim:
        with translate_errors():
            return self._list_claims([self._engine.claims.get(_at(asked), asked.path["claim"])]).claims[0]

    def _renew(self, asked: Asked[Nothing, ClaimRenewal]) -> Claim:
        change = asked.body
        with translate_errors():
            self._engine.claims.renew(_at(asked), asked.path["claim"], ttl=change.ttl, grace=change.grace)
        return self._held(asked)

    def _release(self, asked: Asked[Nothing, None]) -> Released:
        with translate_errors():
            return Released(self._engine.claims.release(_at(asked), asked.path["claim"]))

    def _list_claims(self, held: list[Held]) -> ClaimList:
        now = self._engine.now()
        return ClaimList(
            tuple(
                Claim(
                    claim.id,
                    claim.client,
                    claim.ttl,
                    claim.grace,
                    max(0.0, now - claim.since),
                    max(0.0, claim.ends - now),
                    tuple(self._message(Found(message, claim.id)) for message in messages),
                )
                for claim, messages in held
            )
        )

    def _message(self, found: Found) -> QueueMessage:
        message, now = found.message, self._engine.now()
        seen = peek(message.body)
        return QueueMessage(
            message.id,
            message.number,
            max(0.0, now - message.created),
            max(0.0, message.expires - now),
            len(message.body),
            found.claim,
            message.claims,
            seen.message_id,
            seen.message_type,
            seen.error_code,
            msgspec.Raw(message.body),
        )


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise the errors of queues as ApiError."""
    try:
        yield
    except SourceUnavailableError as error:
        raise ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "channel_unavailable", str(error)) from error
    except ClaimNotThereError as error:
        message = f"{error}: it has expired, was released, or never was"
        raise ApiError(HTTPStatus.NOT_FOUND, "no_such_claim", message) from error
    except NotThereError as error:
        raise ApiError(HTTPStatus.NOT_FOUND, "not_found", str(error)) from error
    except BadValueError as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, "bad_request", str(error)) from error
    except QueuesError as error:
        raise ApiError(HTTPStatus.CONFLICT, "claimed", str(error)) from error


def _at(asked: Asked[Any, Any]) -> Address:
    return Address(asked.path["project"], asked.path["queue"])
