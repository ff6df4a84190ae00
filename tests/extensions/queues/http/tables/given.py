"""Requests that most cases begin with, and messages as they are shown."""

from __future__ import annotations

from typing import Any

from tests.extensions.queues.http.case import Ask, Case

QUEUE = Ask("PUT", "/queues/q")
MESSAGES = "/queues/q/messages"
CLAIMS = "/queues/q/claims"
GRACE = 60


def posted(*bodies: Any, ttl: int = 300, **more: Any) -> Ask:
    """Messages posted in v1.1 or v2, a body each."""
    return Ask("POST", MESSAGES, {"messages": [{"body": body, "ttl": ttl, **more} for body in bodies]})


def claimed(limit: int = 1, ttl: int = 100, grace: int = GRACE) -> Ask:
    """A claim in any version."""
    return Ask("POST", f"{CLAIMS}?limit={limit}", {"ttl": ttl, "grace": grace})


def shown(number: int, body: Any, *, ttl: int = 300, age: int = 0, claim: str = "") -> dict[str, Any]:
    """The message with this number as v1.1 and v2 show it; ``claim`` is the name of the claim that holds it."""
    id_ = f"{{m{number}}}"
    href = f"{{v}}{MESSAGES}/{id_}" + (f"?claim_id={{{claim}}}" if claim else "")
    return {"id": id_, "href": href, "ttl": ttl, "age": age, "body": body}


def wrong_methods(routes: dict[str, str], status_body: Any, methods: tuple[str, ...]) -> list[Case]:
    """405 for every method that a path does not have."""
    return [
        Case(
            f"{method} {path} is not allowed",
            Ask(method, path),
            405,
            status_body,
            {"allow": ", ".join([*allowed.split(), "OPTIONS"])},
        )
        for path, allowed in routes.items()
        for method in methods
        if method not in allowed.split()
    ]
