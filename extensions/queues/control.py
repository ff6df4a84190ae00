"""The control API's queues: their messages and claims, for the screens and the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import msgspec

from emulator.listeners.control.endpoint_routing import ApiError, handles
from extensions.queues.engine import Address, Found, Held, QueueEngine, QueuesError, SourceUnavailableError
from extensions.queues.engine.queue_errors import BadValueError, ClaimNotThereError, NotThereError
from rdss_sandbox.api.queues import Queues
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
from schemas.bound import CONTRACT


class QueueResources:
    """``/queues``."""

    def __init__(self, engine: QueueEngine) -> None:
        self._engine = engine

    @handles(Queues.list)
    def list(self) -> QueueList:
        trouble = self._engine.refresh_views()
        found = (
            Queue(
                each.at.project,
                each.at.name,
                each.view,
                each.stats.total,
                each.stats.claimed,
                each.free,
                each.claims,
                each.subscriptions,
                each.stats.oldest.created if each.stats.oldest else None,
            )
            for each in self._engine.queues.overview()
        )
        return QueueList(tuple(found), tuple(str(each) for each in trouble))

    @handles(Queues.messages)
    def messages(self, project: str, queue: str, *, after: int, limit: int) -> QueueMessagePage:
        at, found = Address(project, queue), list[Found]()
        with translate_errors():
            while limit > len(found):
                most = min(PAGE.most, limit - len(found))
                page = self._engine.messages.page(at, after=after, limit=most, claimed=True, delayed=True)
                found += page
                if len(page) < most:
                    break
                after = page[-1].message.number
        return QueueMessagePage(tuple(self._message(each) for each in found))

    @handles(Queues.delete)
    def delete(self, project: str, queue: str, message: str, claim: str | None) -> MessageDeleted:
        at = Address(project, queue)
        with translate_errors():
            self._engine.messages.get(at, message)
            self._engine.messages.delete(at, message, claim)
        return MessageDeleted(message)

    @handles(Queues.claims)
    def claims(self, project: str, queue: str) -> ClaimList:
        with translate_errors():
            return self._list_claims(*self._engine.claims.list_holding(Address(project, queue)))

    @handles(Queues.claim)
    def claim(self, project: str, queue: str, new: NewClaim) -> ClaimList:
        with translate_errors():
            held = self._engine.claims.create(
                Address(project, queue), ttl=new.ttl, grace=new.grace, limit=new.limit, client=new.client
            )
        return self._list_claims(*[held] if held else [])

    @handles(Queues.find_claim)
    def find_claim(self, project: str, queue: str, claim: str) -> Claim:
        with translate_errors():
            return self._find(Address(project, queue), claim)

    @handles(Queues.renew)
    def renew(self, project: str, queue: str, claim: str, change: ClaimRenewal) -> Claim:
        at = Address(project, queue)
        with translate_errors():
            self._engine.claims.renew(at, claim, ttl=change.ttl, grace=change.grace)
            return self._find(at, claim)

    @handles(Queues.release)
    def release(self, project: str, queue: str, claim: str) -> Released:
        with translate_errors():
            return Released(self._engine.claims.release(Address(project, queue), claim))

    def _find(self, at: Address, claim: str) -> Claim:
        return self._list_claims(self._engine.claims.get(at, claim)).claims[0]

    def _list_claims(self, *held: Held) -> ClaimList:
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
        peek = CONTRACT.peek(message.body)
        return QueueMessage(
            message.id,
            message.number,
            max(0.0, now - message.created),
            max(0.0, message.expires - now),
            len(message.body),
            found.claim,
            message.claims,
            peek.message_id,
            peek.message_type,
            peek.error_code,
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
