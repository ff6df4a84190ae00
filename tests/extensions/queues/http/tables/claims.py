"""Claims in v1.1 and v2."""

from __future__ import annotations

from typing import Any

from tests.extensions.queues.http.case import (
    ANYTHING,
    BAD_BODY,
    BAD_REQUEST,
    NOT_FOUND,
    Ask,
    Case,
    Wait,
    error,
)
from tests.extensions.queues.http.tables.given import CLAIMS, MESSAGES, QUEUE, claimed, posted, shown


def _get(path: str, status: int, body: Any, *given: Ask | Wait, name: str, **more: Any) -> Case:
    return Case(name, Ask("GET", path), status, body, given=given, **more)


CLAIMING = [
    Case(
        "a claim holds the oldest messages",
        claimed(2),
        201,
        {"messages": [shown(0, 0, claim="c0"), shown(1, 1, claim="c0")]},
        {"location": f"{{v}}{CLAIMS}/{{c0}}"},
        given=(posted(0, 1, 2),),
    ),
    Case("a claim passes over what others hold", claimed(20), 201, {"messages": [shown(1, 1, claim="c1")]}, given=(posted(0, 1), claimed())),
    Case(
        "a claim never takes what others hold, whatever lies before it",
        claimed(20),
        201,
        {"messages": [shown(0, 0, claim="c2"), shown(2, 2, claim="c2")]},
        given=(posted(0, 1, 2), claimed(), claimed(), Ask("DELETE", f"{CLAIMS}/{{c0}}")),
        real="takes the second claim's message, too",
    ),
    Case("a claim holds ten messages by default", Ask("POST", CLAIMS, {"ttl": 60, "grace": 60}), 201, {"messages": [shown(n, n, claim="c0") for n in range(10)]}, given=(posted(*range(12)),)),
    Case("a claim of nothing is 204", claimed(), 204, given=(QUEUE,)),
    Case("a claim on a queue that is not there is 204", claimed(), 204),
    Case("a claim when all is held is 204", claimed(), 204, given=(posted(0), claimed())),
    Case("a claim without a body takes the defaults: 300 s, 60 s of grace", Ask("POST", CLAIMS), 201, {"messages": [shown(0, 0, ttl=360, claim="c0")]}, given=(posted(0, ttl=200),)),
    *[
        Case(f"a claim without a body lets a message of {left} s more live {lives} s", Ask("POST", CLAIMS), 201, {"messages": [shown(0, 0, ttl=lives, age=int(passed), claim="c0")]}, given=(posted(0), Wait(passed)))
        for left, passed, lives in (("300", 0, 300), ("299.5", 0.5, 300), ("299", 1, 360))
    ],
    *[
        Case(f"a claim of {ttl} s with {grace} s of grace is allowed", claimed(ttl=ttl, grace=grace), 204)
        for ttl in (60, 43_200)
        for grace in (60, 43_200)
    ],
    *[
        Case(f"a claim's {name} of {value} is out of bounds", Ask("POST", CLAIMS, {"ttl": 60, "grace": 60} | {name: value}), 400, BAD_REQUEST)
        for name in ("ttl", "grace")
        for value in (59, 43_201, 0, -60)
    ],
    *[
        Case(f"a claim's {name} is an integer, not {value!r}", Ask("POST", CLAIMS, {name: value}), 400, BAD_BODY)
        for name in ("ttl", "grace")
        for value in ("60", 60.0, [], {})
    ],
    *[
        Case(f"a claim is not made of {body}", Ask("POST", CLAIMS, body), 400, BAD_BODY)
        for body in ("[]", "1", "{", "nonsense")
    ],
    *[
        Case(f"a claim does not hold {limit} messages", claimed(limit), 400, BAD_REQUEST)
        for limit in (0, 21, -1)
    ],
    Case("a claim's limit is a number", Ask("POST", f"{CLAIMS}?limit=all", {"ttl": 60, "grace": 60}), 400, error("Invalid parameter")),
    Case("a claim holds 20 messages", claimed(20), 201, {"messages": [shown(n, n, claim="c0") for n in range(20)]}, given=(posted(*range(21)),)),
    *[
        Case(
            f"a message of {ttl} s under a claim of 200 s and 100 s of grace lives {lives} s",
            claimed(ttl=200, grace=100),
            201,
            {"messages": [shown(0, 0, ttl=lives, claim="c0")]},
            given=(posted(0, ttl=ttl),),
        )
        for ttl, lives in ((60, 300), (199, 300), (200, 200), (250, 250), (301, 301))
    ],
    _get(
        f"{CLAIMS}/{{c0}}",
        200,
        {"age": 0, "ttl": 100, "messages": [shown(0, 0, claim="c0")], "href": f"{{v}}{CLAIMS}/{{c0}}"},
        posted(0),
        claimed(),
        name="a claim is looked at",
    ),
    _get(
        f"{CLAIMS}/{{c0}}",
        200,
        {"age": 99, "ttl": 100, "messages": [shown(0, 0, age=99, claim="c0")], "href": f"{{v}}{CLAIMS}/{{c0}}"},
        posted(0),
        claimed(),
        Wait(99),
        name="a claim ages",
    ),
    _get(f"{CLAIMS}/{{c0}}", 404, NOT_FOUND, posted(0), claimed(), Wait(100), name="a claim whose time is over is 404"),
    _get(f"{CLAIMS}/mine", 404, NOT_FOUND, QUEUE, name="a claim that never was is 404"),
    _get(
        f"{CLAIMS}/{{c0}}",
        200,
        {"age": 0, "ttl": 100, "messages": [], "href": f"{{v}}{CLAIMS}/{{c0}}"},
        posted(0),
        claimed(),
        Ask("DELETE", f"{MESSAGES}/{{m0}}?claim_id={{c0}}"),
        name="a claim that has done its work is still there",
    ),
    Case("a claim is renewed", Ask("PATCH", f"{CLAIMS}/{{c0}}", {"ttl": 200, "grace": 60}), 204, given=(posted(0), claimed())),
    Case("a claim is renewed with the defaults", Ask("PATCH", f"{CLAIMS}/{{c0}}", {}), 204, given=(posted(0), claimed())),
    _get(
        f"{CLAIMS}/{{c0}}",
        200,
        {"age": 10, "ttl": 200, "messages": [shown(0, 0, age=100, claim="c0")], "href": ANYTHING},
        posted(0),
        claimed(),
        Wait(90),
        Ask("PATCH", f"{CLAIMS}/{{c0}}", {"ttl": 200}),
        Wait(10),
        name="a claim that was renewed begins again",
    ),
    *[
        Case(f"a claim is not renewed for {ttl} s", Ask("PATCH", f"{CLAIMS}/{{c0}}", {"ttl": ttl}), 400, BAD_REQUEST, given=(posted(0), claimed()))
        for ttl in (59, 43_201)
    ],
    *[
        Case(f"a claim is not renewed by {body!r}", Ask("PATCH", f"{CLAIMS}/{{c0}}", body), 400, BAD_BODY, given=(posted(0), claimed()))
        for body in (None, "[]", "{", {"ttl": "60"})
    ],
    Case("a claim that never was is not renewed", Ask("PATCH", f"{CLAIMS}/mine", {"ttl": 60}), 404, NOT_FOUND, given=(QUEUE,)),
    Case("a claim whose time is over is not renewed", Ask("PATCH", f"{CLAIMS}/{{c0}}", {"ttl": 60}), 404, NOT_FOUND, given=(posted(0), claimed(), Wait(100))),
    Case("a claim is released", Ask("DELETE", f"{CLAIMS}/{{c0}}"), 204, given=(posted(0), claimed())),
    Case("a claim that never was is released, too", Ask("DELETE", f"{CLAIMS}/mine"), 204, given=(QUEUE,)),
    Case("what was released can be claimed at once", claimed(), 201, {"messages": [shown(0, 0, claim="c1")]}, given=(posted(0), claimed(), Ask("DELETE", f"{CLAIMS}/{{c0}}"))),
    Case("what has expired can be claimed", claimed(), 201, {"messages": [shown(0, 0, age=100, claim="c1")]}, given=(posted(0), claimed(), Wait(100))),
    Case("what is held cannot be claimed a second before it expires", claimed(), 204, given=(posted(0), claimed(), Wait(99))),
]  # fmt: skip
