"""Columns of queues, claims and queue messages."""

from __future__ import annotations

from rdss_sandbox.shapes.queues import Claim, Queue, QueueMessage
from rdss_sandbox.text import figures
from tui.text.columns import ListColumn

_BAR = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"
_PREVIEW = 200
_SOON_SHARE = 0.2


def remaining(claim: Claim) -> str:
    """The remaining time of the claim as a bar, full for a new claim."""
    eighths = round(_BAR * 8 * min(claim.left / claim.ttl, 1.0)) if claim.ttl else 0
    full, part = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[part] if part else "")).ljust(_BAR, "·")


def _soon(claim: Claim) -> str:
    return "warning" if claim.left < _SOON_SHARE * claim.ttl else "good"


def _name(row: QueueMessage) -> str:
    if row.message_id is not None:
        return " · ".join(each for each in (row.message_id[:8], row.code, row.message_type) if each)
    return bytes(row.body)[:_PREVIEW].decode(errors="replace")


def _free(row: QueueMessage) -> str:
    return "" if row.claim is None else "accent"


QUEUE_COLUMNS: tuple[ListColumn[Queue], ...] = (
    ListColumn("queue", 12, lambda row: row.name, worth=9, stretch=True),
    ListColumn("project", 8, lambda row: row.project, "dim", worth=4),
    ListColumn("source", 6, lambda row: "stream" if row.view else "", "dim", worth=3),
    ListColumn("messages", 8, lambda row: figures.short_count(row.total), right=True, worth=8),
    ListColumn("held", 6, lambda row: figures.short_count(row.claimed), right=True, worth=7),
    ListColumn("claims", 6, lambda row: figures.count(row.claims), right=True, worth=6),
)
CLAIM_COLUMNS: tuple[ListColumn[Claim], ...] = (
    ListColumn("held by", 12, lambda row: row.client, worth=9, stretch=True),
    ListColumn("messages", 8, lambda row: figures.count(len(row.messages)), right=True, worth=7),
    ListColumn("time left", _BAR, remaining, _soon, worth=6),
    ListColumn("", 8, lambda row: figures.span(row.left), _soon, right=True, worth=8),
    ListColumn("claim", 8, lambda row: figures.tail(row.id, 8), "dim", worth=4),
)
MESSAGE_COLUMNS: tuple[ListColumn[QueueMessage], ...] = (
    ListColumn("age", 8, lambda row: figures.span(row.age), "dim", right=True, worth=6),
    ListColumn("held", 8, lambda row: figures.tail(row.claim, 8) if row.claim else "free", _free, worth=8),
    ListColumn("claimed", 7, lambda row: f"{row.claims} x" if row.claims else "", right=True, worth=4),
    ListColumn("size", 8, lambda row: figures.size(row.size), right=True, worth=5),
    ListColumn("message", 20, _name, _free, worth=9, stretch=True),
)
