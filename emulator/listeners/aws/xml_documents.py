"""Checks of XML that a client sends as a request: DOCTYPEs are refused, unreadable documents recognised."""

from __future__ import annotations

import re
from traceback import extract_tb
from typing import Any, Final
from urllib.parse import parse_qs

_HEAD_BYTES: Final = 4096
_OF_AN_OBJECT: Final = frozenset({"acl", "tagging", "legal-hold", "retention"})
_OBJECT: Final = re.compile(r"/[^/]+/.+")
_NO_ENTITIES: Final = "entities are disabled"
"""xmltodict's error for a document that defines entities."""


def declares_types(method: str, path: str, query: str, content_type: str, body: Any) -> bool:
    """Whether a request to S3 is a document with a DOCTYPE, which S3 always refuses.

    An object's content may be any XML. ``body`` is read, and left at its beginning.
    """
    if method not in {"PUT", "POST"} or content_type.startswith("multipart/"):
        return False
    asked = parse_qs(query, keep_blank_values=True)
    if _OBJECT.fullmatch(path) and method == "PUT" and not _OF_AN_OBJECT & asked.keys():
        return False
    head: bytes = body.read(_HEAD_BYTES)
    body.seek(0)
    return b"<!DOCTYPE" in head


def is_unreadable(error: Exception) -> bool:
    """Whether an error from moto means that a document is not XML, or has the wrong root element."""
    from xml.parsers.expat import ExpatError

    if isinstance(error, ExpatError):
        return True
    if isinstance(error, ValueError):
        return str(error) == _NO_ENTITIES
    where = extract_tb(error.__traceback__)
    return isinstance(error, KeyError) and bool(where) and where[-1].filename.endswith("moto/s3/responses.py")
