"""Queues, their messages and the claims on these."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.api.endpoint import DELETE, GET, PATCH, POST, Mode, Subject
from rdss_sandbox.api.parameters import Limit, Position
from rdss_sandbox.shapes.queues import (
    Claim,
    ClaimList,
    ClaimRenewal,
    MessageDeleted,
    NewClaim,
    QueueList,
    QueueMessagePage,
    Released,
)

_QUEUE: Final = {"not_found": 404, "bad_request": 400, "channel_unavailable": 503}
_CLAIM: Final = {"no_such_claim": 404, **_QUEUE}


class Queues(Subject[Mode], at="/queues"):
    """The queues of every project, their messages and the claims on these."""

    @GET("")
    def list(self) -> QueueList:
        """Every queue of every project."""

    @GET("/{project}/{queue}/messages", errors=_QUEUE)
    def messages(
        self, project: str, queue: str, *, after: Position = 0, limit: Limit = 100
    ) -> QueueMessagePage:
        """Up to ``limit`` messages with a number above ``after``, claimed or not, oldest first."""

    @DELETE(
        "/{project}/{queue}/messages/{message}",
        MessageDeleted,
        lambda _: None,
        errors={**_CLAIM, "claimed": 409},
    )
    def delete(self, project: str, queue: str, message: str, claim: str | None = None) -> None:
        """Delete a message. A claimed one needs the id of its ``claim``."""

    @GET("/{project}/{queue}/claims", ClaimList, lambda found: found.claims, errors=_QUEUE)
    def claims(self, project: str, queue: str) -> tuple[Claim, ...]:
        """The claims that hold at least one message."""

    @POST(
        "/{project}/{queue}/claims",
        ClaimList,
        lambda made: made.claims[0] if made.claims else None,
        errors=_QUEUE,
    )
    def claim(self, project: str, queue: str, new: NewClaim) -> Claim | None:
        """Claim messages. No claim is made when no message is free."""

    @GET("/{project}/{queue}/claims/{claim}", errors=_CLAIM)
    def find_claim(self, project: str, queue: str, claim: str) -> Claim:
        """A claim and its messages."""

    @PATCH("/{project}/{queue}/claims/{claim}", errors=_CLAIM)
    def renew(self, project: str, queue: str, claim: str, change: ClaimRenewal) -> Claim:
        """Restart the claim's time to live."""

    @DELETE("/{project}/{queue}/claims/{claim}", Released, lambda answer: answer.released, errors=_QUEUE)
    def release(self, project: str, queue: str, claim: str) -> bool:
        """Release the messages of a claim, if there is such a claim."""
