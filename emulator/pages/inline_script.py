"""Scripts and data inside a page that is one file: nothing of a message can become a script."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Any

import msgspec


def script_policy(script: str) -> str:
    """The source expression of a Content-Security-Policy that lets exactly this inline script run."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def embed_json(name: str, data: Any) -> str:
    """An element with the id ``name`` that holds the data; no text in them can end the element."""
    text = msgspec.json.encode(data).replace(b"<", b"\\u003c").decode()
    return f'<script type="application/json" id="{name}">{text}</script>'
