"""Version 1, as jclouds speaks it."""

from __future__ import annotations

from typing import Any

from tests.extensions.queues.http.case import (
    ANYTHING,
    BAD_BODY,
    BAD_REQUEST,
    CLIENT,
    LINK,
    NO_PATH,
    NOT_FOUND,
    OTHER,
    WRONG_METHOD,
    Ask,
    Case,
    Wait,
    error,
)
from tests.extensions.queues.http.tables.given import CLAIMS, MESSAGES, QUEUE, claimed, wrong_methods

_NAMELESS: dict[str, str | None] = {"Client-ID": None, "X-Project-ID": None}
_HELD = error("Unable to delete", "This message is claimed; it cannot be deleted without a valid claim ID.")
_NO_CLAIM = error("Unable to delete", "The specified claim does not exist or has expired.")
_NOT_HELD = error("Unable to delete", "A claim was specified, but the message is not currently claimed.")
_HERE = {"content-location": f"{{v}}{MESSAGES}"}
_ROUTES = {
    "/queues": "GET",
    "/queues/q": "DELETE GET HEAD PUT",
    "/queues/q/metadata": "GET PUT",
    "/queues/q/stats": "GET",
    MESSAGES: "DELETE GET POST",
    f"{MESSAGES}/x": "DELETE GET",
    CLAIMS: "POST",
    f"{CLAIMS}/x": "DELETE GET PATCH",
    "/health": "GET HEAD",
}


def _posted(*bodies: Any, ttl: int = 300) -> Ask:
    return Ask("POST", MESSAGES, [{"body": body, "ttl": ttl} for body in bodies])


def _shown(number: int, body: Any, *, ttl: int = 300, age: int = 0, claim: str = "") -> dict[str, Any]:
    href = f"{{v}}{MESSAGES}/{{m{number}}}" + (f"?claim_id={{{claim}}}" if claim else "")
    return {"href": href, "ttl": ttl, "age": age, "body": body}


def _get(name: str, path: str, status: int, body: Any, *given: Ask | Wait, **more: Any) -> Case:
    return Case(name, Ask("GET", path), status, body, given=given, **more)


QUEUES = [
    Case("a queue is made", QUEUE, 201, headers={"location": "{v}/queues/q"}),
    Case("a queue that is there is left as it is", QUEUE, 204, headers={"location": "{v}/queues/q"}, given=(QUEUE,)),
    Case("a queue is made without Client-ID", Ask("PUT", "/queues/q", headers={"Client-ID": None}), 201),
    _get("a queue is there", "/queues/q", 204, b"", QUEUE, headers={"content-location": "{v}/queues/q"}),
    _get("a queue is not there", "/queues/q", 404, b"", headers={"content-location": "{v}/queues/q"}),
    Case("a queue is there, by HEAD", Ask("HEAD", "/queues/q"), 204, given=(QUEUE,)),
    Case("a queue is not there, by HEAD", Ask("HEAD", "/queues/q"), 404),
    Case("a queue is deleted", Ask("DELETE", "/queues/q"), 204, given=(QUEUE,)),
    Case("a queue that is not there is deleted, too", Ask("DELETE", "/queues/q"), 204),
    _get("a project without queues is 204", "/queues", 204, b""),
    Case("queues are listed without Client-ID and project", Ask("GET", "/queues", headers=_NAMELESS), 204),
    _get(
        "queues are listed by name", "/queues", 200,
        {"queues": [{"name": name, "href": f"{{v}}/queues/{name}"} for name in "ab"], "links": [{"rel": "next", "href": "{v}/queues?marker=b"}]},
        Ask("PUT", "/queues/b"), Ask("PUT", "/queues/a"),
        headers={"content-location": "{v}/queues"},
    ),
    _get(
        "a detailed list has the metadata", "/queues?detailed=true", 200,
        {"queues": [{"name": "q", "metadata": {"a": 1}, "href": "{v}/queues/q"}], "links": LINK},
        QUEUE, Ask("PUT", "/queues/q/metadata", {"a": 1}),
        headers={"content-location": "{v}/queues?detailed=true"},
    ),
    _get("a list of queues goes on after its marker", "/queues?marker=a", 200, {"queues": [{"name": "b", "href": "{v}/queues/b"}], "links": LINK}, Ask("PUT", "/queues/a"), Ask("PUT", "/queues/b"), real="never goes on after the first queue"),
    _get("a list of queues ends with 204", "/queues?marker=b", 204, b"", Ask("PUT", "/queues/a"), Ask("PUT", "/queues/b")),
    *[_get(f"queues are not listed {limit} at a time", f"/queues?limit={limit}", 400, BAD_REQUEST) for limit in (0, 21)],
    *[
        _get(f"a query's {name} is not {value}", f"/queues?{name}={value}", 400, error("Invalid parameter"))
        for name, value in (("limit", "x"), ("detailed", "perhaps"))
    ],
    *[
        _get(f"{name} cannot be a queue's name", f"/queues/{path}", 400, error("Invalid queue identification"))
        for name, path in (("a b", "a%20b"), ("ü", "%C3%BC"), ("65 letters", "a" * 65))
    ],
]  # fmt: skip

HEADERS = [
    Case("a Client-ID that is given is a UUID", Ask("GET", "/queues", headers={"Client-ID": "me"}), 400, error("Wrong UUID value")),
    Case("a project that is given is not empty", Ask("GET", "/queues", headers={"X-Project-ID": ""}), 400, error("Empty project header not allowed")),
    Case("form data is refused", Ask("PUT", "/queues/q", "{}", {"Content-Type": "application/x-www-form-urlencoded"}), 400, error("Invalid Content-Type")),
    *[Case(f"Accept: {accept} is not acceptable", Ask("GET", "/queues", headers={"Accept": accept}), 406, real="answers in XML where that is welcome") for accept in ("text/html", "application/xml")],
    *[Case(f"Accept: {accept} is served", Ask("GET", "/queues", headers={"Accept": accept}), 204) for accept in ("*/*", "application/json")],
    Case("messages are not posted without Client-ID", Ask("POST", MESSAGES, "[]", {"Client-ID": None}), 400, error("Missing header value"), given=(QUEUE,)),
    Case("messages are not listed without Client-ID", Ask("GET", MESSAGES, headers={"Client-ID": None}), 400, error("Missing header value"), given=(QUEUE,)),
    Case("a Client-ID may be written without dashes", Ask("GET", MESSAGES, headers={"Client-ID": CLIENT.replace("-", "")}), 204, given=(QUEUE, _posted(1))),
    *[Case(f"{path} came later", Ask(method, path), 404, NO_PATH) for method, path in (("GET", "/ping"), ("POST", "/queues/q/share"), ("POST", "/queues/q/purge"), ("GET", "/queues/q/subscriptions"))],
    Case("the home document asks for nothing", Ask("GET", "/", headers=_NAMELESS), 200, {"resources": ANYTHING}),
    Case("health", Ask("GET", "/health"), 204),
    Case("health by HEAD", Ask("HEAD", "/health"), 204),
]  # fmt: skip

METADATA = [
    _get("a queue's metadata is empty", "/queues/q/metadata", 200, {}, QUEUE, headers={"content-location": "{v}/queues/q/metadata"}),
    _get("a queue's metadata is what was set", "/queues/q/metadata", 200, {"b": [2]}, QUEUE, Ask("PUT", "/queues/q/metadata", {"a": 1}), Ask("PUT", "/queues/q/metadata", {"b": [2]})),
    Case("metadata is set", Ask("PUT", "/queues/q/metadata", {"a": 1}), 204, headers={"location": "{v}/queues/q/metadata"}, given=(QUEUE,)),
    _get("the metadata of a queue that is not there is 404", "/queues/q/metadata", 404, NOT_FOUND),
    Case("the metadata of a queue that is not there is not set", Ask("PUT", "/queues/q/metadata", {}), 404, NOT_FOUND),
    *[Case(f"{key} is reserved", Ask("PUT", "/queues/q/metadata", {key: 60}), 400, BAD_REQUEST, given=(QUEUE,)) for key in ("_default_message_ttl", "_anything")],
    *[Case(f"metadata is not {body!r}", Ask("PUT", "/queues/q/metadata", body), 400, BAD_BODY, given=(QUEUE,)) for body in ("[]", "1", "{", None)],
    Case("metadata of more than 64 KiB is refused", Ask("PUT", "/queues/q/metadata", {"large": "x" * 65_536}), 400, BAD_REQUEST, given=(QUEUE,)),
]  # fmt: skip

STATS = [
    _get("an empty queue has zeros", "/queues/q/stats", 200, {"messages": {"claimed": 0, "free": 0, "total": 0}}, QUEUE),
    _get("a queue that is not there has no statistics", "/queues/q/stats", 404, NOT_FOUND),
    _get("what is held is counted", "/queues/q/stats", 200, {"messages": {"claimed": 1, "free": 1, "total": 2, "newest": ANYTHING, "oldest": ANYTHING}}, QUEUE, _posted(0, 1), claimed(), headers={"content-location": "{v}/queues/q/stats"}),
]  # fmt: skip

MESSAGES_POSTED = [
    Case(
        "messages are posted as an array", _posted(1, 2), 201,
        {"resources": [f"{{v}}{MESSAGES}/{{m0}}", f"{{v}}{MESSAGES}/{{m1}}"], "partial": False},
        {"location": f"{{v}}{MESSAGES}?ids={{m0}},{{m1}}"}, given=(QUEUE,),
    ),
    _get("the queue is made with the first message", f"{MESSAGES}/{{m0}}", 200, _shown(0, 1), _posted(1), real="takes the message, and nobody finds it"),
    *[Case(f"a ttl of {ttl} is allowed", _posted(1, ttl=ttl), 201, ANYTHING) for ttl in (60, 1_209_600)],
    *[Case(f"a ttl of {ttl} is out of bounds", _posted(1, ttl=ttl), 400, BAD_REQUEST) for ttl in (59, 1_209_601, 0)],
    *[Case(f"a ttl is an integer, not {ttl!r}", _posted(1, ttl=ttl), 400, BAD_BODY) for ttl in ("60", 60.5, [])],
    Case("a ttl must be given", Ask("POST", MESSAGES, [{"body": 1}]), 400, error("Invalid request body", 'Missing "ttl" field.')),
    Case("a body must be given", Ask("POST", MESSAGES, [{"ttl": 60}]), 400, error("Invalid request body", 'Missing "body" field.')),
    Case("there must be messages", Ask("POST", MESSAGES, "[]"), 400, BAD_REQUEST),
    *[Case(f"messages are not posted as {body!r}", Ask("POST", MESSAGES, body), 400, BAD_BODY) for body in ({"messages": [{"body": 1, "ttl": 60}]}, "{}", "1", "[", None, b"\xff")],
    Case("more than 256 KiB are refused", _posted("x" * 262_144), 400, BAD_REQUEST),
    *[
        _get(f"a body is any JSON: {body}", f"{MESSAGES}?echo=true", 200, {"messages": [_shown(0, body)], "links": LINK}, QUEUE, _posted(body))
        for body in (None, False, 1.5, "é", [], {"a": {}})
    ],
]  # fmt: skip

MESSAGES_READ = [
    _get("an empty queue is 204", MESSAGES, 204, b"", QUEUE, headers=_HERE),
    _get("a queue that is not there is 404", MESSAGES, 404, NOT_FOUND),
    _get("who posted a message does not hear its echo", MESSAGES, 204, b"", QUEUE, _posted(1)),
    Case("another client sees the message", Ask("GET", MESSAGES, headers={"Client-ID": OTHER}), 200, {"messages": [_shown(0, 1)], "links": LINK}, _HERE, given=(QUEUE, _posted(1))),
    _get("messages are listed from the oldest on", f"{MESSAGES}?echo=true&limit=2", 200, {"messages": [_shown(0, 0), _shown(1, 1)], "links": LINK}, QUEUE, _posted(0, 1, 2)),
    _get("claimed messages are left out", f"{MESSAGES}?echo=true", 200, {"messages": [_shown(1, 1)], "links": LINK}, QUEUE, _posted(0, 1), claimed()),
    _get("claimed messages are listed when asked for", f"{MESSAGES}?echo=true&include_claimed=true", 200, {"messages": [_shown(0, 0)], "links": LINK}, QUEUE, _posted(0), claimed(), real="503 without a marker"),
    _get("a message ages", f"{MESSAGES}?echo=true", 200, {"messages": [_shown(0, 0, age=70)], "links": LINK}, QUEUE, _posted(0), Wait(70)),
    _get("a message is gone when its ttl is over", f"{MESSAGES}?echo=true", 204, b"", QUEUE, _posted(0, ttl=60), Wait(60)),
    *[_get(f"messages are not listed {limit} at a time", f"{MESSAGES}?limit={limit}", 400, BAD_REQUEST, QUEUE) for limit in (0, 21)],
    *[_get(f"a query's {name} is not banana", f"{MESSAGES}?{name}=banana", 400, error("Invalid parameter"), QUEUE) for name in ("limit", "echo", "include_claimed")],
    _get("messages are found by their ids", f"{MESSAGES}?ids={{m1}},{{m0}}", 200, [_shown(1, 1), _shown(0, 0)], QUEUE, _posted(0, 1), headers={"content-location": f"{{v}}{MESSAGES}?ids={{m1}},{{m0}}"}),
    _get("none of the ids is 204", f"{MESSAGES}?ids=nobody", 204, b"", QUEUE),
    _get("21 ids are too many", f"{MESSAGES}?ids={','.join('x' * 21)}", 400, BAD_REQUEST, QUEUE),
    _get("a message is found by its id", f"{MESSAGES}/{{m0}}", 200, _shown(0, 0), QUEUE, _posted(0), headers={"content-location": f"{{v}}{MESSAGES}/{{m0}}"}),
    _get("a message that is not there is 404", f"{MESSAGES}/nobody", 404, NOT_FOUND, QUEUE),
]  # fmt: skip

MESSAGES_DELETED = [
    Case("a message is deleted", Ask("DELETE", f"{MESSAGES}/{{m0}}"), 204, given=(QUEUE, _posted(0))),
    Case("a message that is gone is deleted, too", Ask("DELETE", f"{MESSAGES}/nobody"), 204, given=(QUEUE,)),
    Case("a message that is held is not deleted without its claim", Ask("DELETE", f"{MESSAGES}/{{m0}}"), 403, _HELD, given=(QUEUE, _posted(0), claimed())),
    Case("a message that is held is deleted with its claim", Ask("DELETE", f"{MESSAGES}/{{m0}}?claim_id={{c0}}"), 204, given=(QUEUE, _posted(0), claimed())),
    Case("a message is not deleted with the claim of others", Ask("DELETE", f"{MESSAGES}/{{m0}}?claim_id={{c1}}"), 403, _HELD, given=(QUEUE, _posted(0, 1), claimed(), claimed())),
    Case("a claim that never was deletes nothing", Ask("DELETE", f"{MESSAGES}/{{m0}}?claim_id={OTHER}"), 400, _NO_CLAIM, given=(QUEUE, _posted(0), claimed())),
    Case("a claim does not delete what nobody holds", Ask("DELETE", f"{MESSAGES}/{{m1}}?claim_id={{c0}}"), 400, _NOT_HELD, given=(QUEUE, _posted(0, 1), claimed())),
    Case("a claim that has expired deletes nothing", Ask("DELETE", f"{MESSAGES}/{{m0}}?claim_id={{c0}}"), 400, _NOT_HELD, given=(QUEUE, _posted(0), claimed(), Wait(100))),
    Case("messages are deleted by their ids", Ask("DELETE", f"{MESSAGES}?ids={{m0}},nobody"), 204, given=(QUEUE, _posted(0))),
    *[Case(f"messages are not deleted by{what}", Ask("DELETE", f"{MESSAGES}{query}"), 400, error("Missing parameter"), given=(QUEUE,)) for what, query in ((" nothing", ""), (" pop", "?pop=1"))],
    Case("21 ids are too many to delete", Ask("DELETE", f"{MESSAGES}?ids={','.join('x' * 21)}"), 400, BAD_REQUEST, given=(QUEUE,)),
]  # fmt: skip

CLAIMING = [
    Case("a claim answers with an array", claimed(2), 201, [_shown(0, 0, claim="c0"), _shown(1, 1, claim="c0")], {"location": f"{{v}}{CLAIMS}/{{c0}}"}, given=(QUEUE, _posted(0, 1, 2))),
    Case("a claim passes over what others hold", claimed(20), 201, [_shown(1, 1, claim="c1")], given=(QUEUE, _posted(0, 1), claimed())),
    Case("a claim is made without Client-ID", Ask("POST", CLAIMS, {"ttl": 60, "grace": 60}, {"Client-ID": None}), 201, [_shown(0, 0, claim="c0")], given=(QUEUE, _posted(0))),
    Case("a claim of nothing is 204", claimed(), 204, given=(QUEUE,)),
    Case("a claim on a queue that is not there is 204", claimed(), 204),
    *[Case(f"a claim needs {needed}", Ask("POST", CLAIMS, body), 400, BAD_BODY, given=(QUEUE,)) for needed, body in (("a body", None), ("a ttl", {"grace": 60}), ("a grace", {"ttl": 60}), ("a document", "[]"))],
    *[
        Case(f"a claim's {name} of {value} is out of bounds", Ask("POST", CLAIMS, {"ttl": 60, "grace": 60} | {name: value}), 400, BAD_REQUEST)
        for name in ("ttl", "grace")
        for value in (59, 43_201)
    ],
    *[Case(f"a claim's {name} is an integer", Ask("POST", CLAIMS, {"ttl": 60, "grace": 60} | {name: "60"}), 400, BAD_BODY) for name in ("ttl", "grace")],
    *[Case(f"a claim does not hold {limit} messages", claimed(limit), 400, BAD_REQUEST) for limit in (0, 21)],
    *[
        Case(f"a message of {ttl} s under a claim of 200 s and 100 s of grace lives {lives} s", claimed(ttl=200, grace=100), 201, [_shown(0, 0, ttl=lives, claim="c0")], given=(QUEUE, _posted(0, ttl=ttl)))
        for ttl, lives in ((60, 300), (250, 250))
    ],
    _get("a claim is looked at", f"{CLAIMS}/{{c0}}", 200, {"age": 0, "ttl": 100, "messages": [_shown(0, 0, claim="c0")], "href": f"{{v}}{CLAIMS}/{{c0}}"}, QUEUE, _posted(0), claimed(), headers={"content-location": f"{{v}}{CLAIMS}/{{c0}}"}),
    _get("a claim that never was is 404", f"{CLAIMS}/mine", 404, NOT_FOUND, QUEUE),
    _get("a claim whose time is over is 404", f"{CLAIMS}/{{c0}}", 404, NOT_FOUND, QUEUE, _posted(0), claimed(), Wait(100)),
    Case("a claim is renewed with a ttl alone", Ask("PATCH", f"{CLAIMS}/{{c0}}", {"ttl": 200}), 204, given=(QUEUE, _posted(0), claimed())),
    *[Case(f"a claim is not renewed by {body}", Ask("PATCH", f"{CLAIMS}/{{c0}}", body), 400, BAD_BODY, given=(QUEUE, _posted(0), claimed())) for body in ({}, "[]", {"ttl": "60"})],
    *[Case(f"a claim is not renewed for {ttl} s", Ask("PATCH", f"{CLAIMS}/{{c0}}", {"ttl": ttl}), 400, BAD_REQUEST, given=(QUEUE, _posted(0), claimed())) for ttl in (59, 43_201)],
    Case("a claim that never was is not renewed", Ask("PATCH", f"{CLAIMS}/mine", {"ttl": 60}), 404, NOT_FOUND, given=(QUEUE,)),
    Case("a claim is released", Ask("DELETE", f"{CLAIMS}/{{c0}}"), 204, given=(QUEUE, _posted(0), claimed())),
    Case("a claim that never was is released, too", Ask("DELETE", f"{CLAIMS}/mine"), 204),
    Case("what was released can be claimed at once", claimed(), 201, [_shown(0, 0, claim="c1")], given=(QUEUE, _posted(0), claimed(), Ask("DELETE", f"{CLAIMS}/{{c0}}"))),
]  # fmt: skip

V1 = [
    *QUEUES,
    *HEADERS,
    *METADATA,
    *STATS,
    *MESSAGES_POSTED,
    *MESSAGES_READ,
    *MESSAGES_DELETED,
    *CLAIMING,
    *wrong_methods(_ROUTES, WRONG_METHOD, ("GET", "PUT", "POST", "PATCH", "DELETE")),
]
