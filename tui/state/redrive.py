"""Redriving a message: sending it again to the stream where it came from.

The decoration of the error queue (errorCode, errorDescription) is removed. An entry is added to
messageHistory, so that redrives of the same message can be counted.
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
from schemas.rdss.decoration import SYNTHESISED
from schemas.rdss.envelope import serialise
from tui.state.transfer import as_bytes

STAMP = "rdss-sandbox-redrive"


def times_redriven(header: Mapping[str, Any] | None) -> int:
    """The number of redrives in the messageHistory of a header."""
    history = (header or {}).get("messageHistory")
    entries = history if isinstance(history, list) else []
    return sum(isinstance(entry, dict) and entry.get("machineId") == STAMP for entry in entries)


def first_stream_outside(rows: Iterable[MessageRow], apart: Container[str]) -> str | None:
    """The stream of the first of these rows that is not in a stream of ``apart``."""
    return next((row.stream for row in rows if row.stream not in apart), None)


def stamp(data: bytes, now: float) -> bytes:
    """The message without decoration and with a redrive entry in its history; other bytes unchanged."""
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


def original_bytes(detail: MessageDetail) -> bytes | None:
    """The bytes that the sender sent, unwrapped if an error queue wrapped them; None when they are gone."""
    body = detail.body if isinstance(detail.body, dict) else {}
    if (detail.header or {}).get("generator") == SYNTHESISED:
        raw = body.get("raw")
        return raw.encode() if isinstance(raw, str) else base64.b64decode(str(body.get("rawBase64", "")))
    try:
        return as_bytes(detail)
    except ValueError:
        return None


async def fetch_original(client: AsyncClient, detail: MessageDetail) -> bytes:
    """Fetch the message as its sender sent it, from the bucket if the queue's decoration names one.

    Raises ValueError when it is gone, or when the object has another SHA-256.
    """
    body = detail.body if isinstance(detail.body, dict) else {}
    if detail.code and isinstance(address := body.get("original"), str):
        place = urlsplit(address)
        held = await client.object(place.netloc, place.path.removeprefix("/"))
        if (digest := body.get("sha256")) and hashlib.sha256(held).hexdigest() != digest:
            raise ValueError(f"{address} is not the message that was refused: its SHA-256 differs")
        return held
    if (data := original_bytes(detail)) is None:
        raise ValueError(f"message #{detail.id} is past its stream's retention: only its row is left")
    return data


async def find_origin(client: AsyncClient, row: MessageRow, apart: Container[str]) -> str | None:
    """Find the first stream that had the message, outside of those ``apart``; None when there is none."""
    if row.message_id is None:
        return None
    return first_stream_outside((await client.messages(matching=f'id:"{row.message_id}"')).messages, apart)


async def resend(client: AsyncClient, row: MessageRow, target: str, now: float) -> None:
    """Send the message again to ``target`` with a redrive entry. Raises ValueError when it is gone."""
    data = stamp(await fetch_original(client, await client.message(row.id)), now)
    await client.send(NewMessage(target, data, row.partition_key))
