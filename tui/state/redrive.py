"""Sending a message again: where to, and with a stamp that makes a loop visible.

A queue's decoration (errorCode, errorDescription) comes off, an entry of our own goes on messageHistory, so
that a message that comes back can be counted.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Container, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from rdss_sandbox.client import AsyncClient
from rdss_sandbox.shapes.messages import MessageDetail, MessageRow, NewMessage
from rdss_sandbox.timestamps import timestamp
from schemas.decoration import SYNTHESISED
from schemas.envelope import serialise
from tui.state.transfer import as_bytes

STAMP = "rdss-sandbox-redrive"


def times_redriven(header: Mapping[str, Any] | None) -> int:
    """How often this message says that it was redriven."""
    history = (header or {}).get("messageHistory")
    entries = history if isinstance(history, list) else []
    return sum(isinstance(entry, dict) and entry.get("machineId") == STAMP for entry in entries)


def origin(rows: Iterable[MessageRow], apart: Container[str]) -> str | None:
    """The stream, but none of those ``apart``, that the message of these rows was first seen in."""
    return next((row.stream for row in rows if row.stream not in apart), None)


def stamped(data: bytes, now: float) -> bytes:
    """The message without a queue's decoration, our entry in its history; unreadable bytes as they are."""
    try:
        message = msgspec.json.decode(data)
        header = message["messageHeader"]
        history = header.setdefault("messageHistory", [])
        history.append({"machineId": STAMP, "machineAddress": "localhost", "timestamp": timestamp(now)})
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, KeyError, AttributeError):
        return data
    header.pop("errorCode", None)
    header.pop("errorDescription", None)
    return serialise(message)


def kept(detail: MessageDetail) -> bytes | None:
    """The message's bytes as its sender made them, where a queue wrapped them; None when they are gone."""
    body = detail.body if isinstance(detail.body, dict) else {}
    if (detail.header or {}).get("generator") == SYNTHESISED:
        raw = body.get("raw")
        return raw.encode() if isinstance(raw, str) else base64.b64decode(str(body.get("rawBase64", "")))
    try:
        return as_bytes(detail)
    except ValueError:
        return None


async def original(client: AsyncClient, detail: MessageDetail) -> bytes:
    """The message as its sender made it, fetched from the bucket where a queue's decoration says it lies.

    ValueError when it is gone, or when what lies there is not it.
    """
    body = detail.body if isinstance(detail.body, dict) else {}
    if detail.code and isinstance(address := body.get("original"), str):
        place = urlsplit(address)
        held = await client.object(place.netloc, place.path.removeprefix("/"))
        if (digest := body.get("sha256")) and hashlib.sha256(held).hexdigest() != digest:
            raise ValueError(f"{address} is not the message that was refused: its SHA-256 differs")
        return held
    if (data := kept(detail)) is None:
        raise ValueError(f"message #{detail.id} is past its stream's retention: only its row is left")
    return data


async def find_origin(client: AsyncClient, row: MessageRow, apart: Container[str]) -> str | None:
    """The stream that the message was first seen in before it came into a queue; None when in no other."""
    if row.message_id is None:
        return None
    return origin((await client.messages(matching=f'id:"{row.message_id}"')).messages, apart)


async def again(client: AsyncClient, row: MessageRow, target: str, now: float) -> None:
    """Send the message of this row once more, stamped, to ``target``. ValueError when it is gone."""
    data = stamped(await original(client, await client.message(row.id)), now)
    await client.send(NewMessage(target, data, row.partition_key))
