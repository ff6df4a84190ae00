"""What v1.1 and v2 have in common."""

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
    UUID,
    Ask,
    Case,
    Wait,
    error,
)
from tests.extensions.queues.http.tables.claims import CLAIMING
from tests.extensions.queues.http.tables.given import MESSAGES, QUEUE, claimed, posted, shown

_CANNOT_DELETE = "Unable to delete"
_HELD = error(_CANNOT_DELETE, "This message is claimed; it cannot be deleted without a valid claim ID.")
_NO_CLAIM = error(_CANNOT_DELETE, "The specified claim does not exist or has expired.")
_NOT_HELD = error(_CANNOT_DELETE, "A claim was specified, but the message is not currently claimed.")
_NO_CLIENT = error("Missing header value", 'The "Client-Id" header is required.')
_ZEROS = {"messages": {"claimed": 0, "free": 0, "total": 0}}
_SECOND_CLIENT: dict[str, str | None] = {"Client-ID": OTHER}
_NO_MESSAGES = {"messages": [], "links": []}


def _get(path: str, status: int, body: Any, *given: Ask | Wait, name: str, **more: Any) -> Case:
    return Case(name, Ask("GET", path), status, body, given=given, **more)


HEADERS = [
    Case(
        "a request without Client-ID is refused",
        Ask("GET", "/queues", headers={"Client-ID": None}),
        400,
        _NO_CLIENT,
    ),
    Case("the home document has what there is", Ask("GET", "/"), 200, {"resources": ANYTHING}),
    Case(
        "the home document asks for Client-ID", Ask("GET", "/", headers={"Client-ID": None}), 400, _NO_CLIENT
    ),
    Case(
        "a Client-ID that is no UUID sees no home document",
        Ask("GET", "/", headers={"Client-ID": "me"}),
        400,
        error("Wrong UUID value"),
    ),
    Case(
        "the home document asks for a project",
        Ask("GET", "/", headers={"X-Project-ID": None}),
        400,
        error("Project-Id Missing"),
    ),
    Case(
        "without the slash the home document asks for nothing",
        Ask("GET", "", headers={"Client-ID": None, "X-Project-ID": None}),
        200,
        {"resources": ANYTHING},
        real="404",
    ),
    Case(
        "a Client-ID that is no UUID is refused",
        Ask("GET", "/queues", headers={"Client-ID": "me"}),
        400,
        error("Wrong UUID value", "Malformed hexadecimal UUID."),
    ),
    Case(
        "a Client-ID may be written without dashes",
        Ask("GET", "/queues", headers={"Client-ID": CLIENT.replace("-", "")}),
        200,
        {"queues": [], "links": []},
    ),
    Case(
        "a request without a project is refused",
        Ask("GET", "/queues", headers={"X-Project-ID": None}),
        400,
        error("Project-Id Missing", "The header X-PROJECT-ID was missing"),
    ),
    Case(
        "an empty project is refused",
        Ask("GET", "/queues", headers={"X-Project-ID": ""}),
        400,
        error("Empty project header not allowed"),
    ),
    Case(
        "a project of more than 256 characters is refused",
        Ask("GET", "/queues/q", headers={"X-Project-ID": "p" * 257}),
        400,
        error("Invalid queue identification"),
    ),
    Case(
        "form data is refused",
        Ask("PUT", "/queues/q", "{}", {"Content-Type": "application/x-www-form-urlencoded"}),
        400,
        error("Invalid Content-Type"),
    ),
    *[
        Case(f"Accept: {accept} is served", Ask("GET", "/ping", headers={"Accept": accept}), 204)
        for accept in ("*/*", "application/*", "application/json", "text/html, application/json;q=0.1")
    ],
    *[
        Case(
            f"Accept: {accept} is not acceptable",
            Ask("GET", "/ping", headers={"Accept": accept}),
            406,
            real="may answer in XML",
        )
        for accept in ("text/html", "application/xml", "text/*;q=0.9")
    ],
    *[
        Case(f"there is no path {path}", Ask("GET", path), 404, NO_PATH)
        for path in (
            "/nothing",
            "/queues/q/nothing",
            "/queues/q/",
            "/queues/q/messages/a/b",
            "/queues/q/claims/a/b",
        )
    ],
    *[
        Case(
            f"{name} cannot be a queue's name",
            Ask("GET", f"/queues/{path}"),
            400,
            error("Invalid queue identification"),
        )
        for name, path in (("a b", "a%20b"), ("a+b", "a+b"), ("ü", "%C3%BC"), ("65 letters", "a" * 65))
    ],
    *[
        Case(
            f"{name} can be a queue's name",
            Ask("PUT", f"/queues/{name}"),
            201,
            headers={"location": f"{{v}}/queues/{name}"},
        )
        for name in ("a", "A-b_c.d", "0", "a" * 64)
    ],
]

QUEUES = [
    Case("a queue is made", QUEUE, 201, headers={"location": "{v}/queues/q"}),
    Case(
        "a queue that is there is left as it is",
        QUEUE,
        204,
        headers={"location": "{v}/queues/q"},
        given=(QUEUE,),
    ),
    Case("an empty body makes a queue without metadata", Ask("PUT", "/queues/q", {}), 201),
    *[
        Case(f"metadata must be an object, not {body}", Ask("PUT", "/queues/q", body), 400, BAD_BODY)
        for body in ("[]", "1", '"text"', "null", "{", "{]", "\x00")
    ],
    Case(
        "metadata of more than 64 KiB is refused",
        Ask("PUT", "/queues/q", {"large": "x" * 65_536}),
        400,
        BAD_REQUEST,
    ),
    *[
        Case(
            f"reserved metadata is checked: {key} {value}",
            Ask("PUT", "/queues/q", {key: value}),
            400,
            BAD_REQUEST,
        )
        for key, value in (
            ("_default_message_ttl", 59),
            ("_default_message_ttl", 1_209_601),
            ("_default_message_ttl", "long"),
            ("_max_messages_post_size", 262_145),
            ("_max_messages_post_size", 0),
        )
    ],
    Case("a queue is deleted", Ask("DELETE", "/queues/q"), 204, given=(QUEUE,)),
    Case("a queue that is not there is deleted, too", Ask("DELETE", "/queues/q"), 204),
    _get(
        MESSAGES,
        200,
        _NO_MESSAGES,
        posted(1),
        Ask("DELETE", "/queues/q"),
        name="a queue's messages go with it",
    ),
    _get("/queues", 200, {"queues": [], "links": []}, name="a project without queues has an empty list"),
    _get(
        "/queues",
        200,
        {
            "queues": [{"name": name, "href": f"{{v}}/queues/{name}"} for name in ("a", "b", "c")],
            "links": [{"rel": "next", "href": "{v}/queues?marker=c"}],
        },
        *[Ask("PUT", f"/queues/{name}") for name in "cab"],
        name="queues are listed by name",
    ),
    _get(
        "/queues?limit=1&marker=a",
        200,
        {
            "queues": [{"name": "b", "href": "{v}/queues/b"}],
            "links": [{"rel": "next", "href": "{v}/queues?limit=1&marker=b"}],
        },
        *[Ask("PUT", f"/queues/{name}") for name in "abc"],
        name="a list of queues goes on after its marker",
        real="never goes on after the first queue",
    ),
    _get(
        "/queues?marker=c",
        200,
        {"queues": [], "links": []},
        *[Ask("PUT", f"/queues/{name}") for name in "abc"],
        name="a list of queues ends",
    ),
    *[
        _get(f"/queues?limit={limit}", 400, BAD_REQUEST, name=f"queues are not listed {limit} at a time")
        for limit in (0, 21, -1)
    ],
    _get("/queues?limit=20", 200, {"queues": [], "links": []}, name="queues are listed 20 at a time"),
    *[
        _get(
            f"/queues?{name}={value}",
            400,
            error("Invalid parameter"),
            name=f"a query's {name} is not {value}",
        )
        for name, value in (("limit", "x"), ("limit", "1.5"), ("detailed", "perhaps"))
    ],
]

STATS = [
    _get("/queues/q/stats", 200, _ZEROS, QUEUE, name="an empty queue has zeros"),
    _get("/queues/q/stats", 200, _ZEROS, name="a queue that is not there has zeros"),
    _get(
        "/queues/q/stats",
        200,
        {
            "messages": {
                "claimed": 1,
                "free": 2,
                "total": 3,
                "newest": {
                    "age": 0, "ttl": 300, "body": "c", "claim_id": None, "claim_count": 0,
                    "created": ANYTHING, "href": f"{{v}}{MESSAGES}/{{m2}}",
                },
                "oldest": {
                    "age": 0, "ttl": 300, "body": "a", "claim_id": "{c0}", "claim_count": 0,
                    "created": ANYTHING, "href": f"{{v}}{MESSAGES}/{{m0}}",
                },
            }
        },
        posted("a", "b", "c"),
        claimed(),
        name="what is held, and the ends of a queue, are counted and shown",
    ),
    _get(
        "/queues/q/stats",
        200,
        {"messages": {"claimed": 0, "free": 1, "total": 1, "newest": ANYTHING, "oldest": ANYTHING}},
        posted("a"),
        claimed(),
        Wait(100),
        name="a claim that has expired holds nothing",
    ),
]  # fmt: skip

POSTING = [
    Case(
        "messages are posted, and the queue made with the first",
        posted(1, 2),
        201,
        {"resources": [f"{{v}}{MESSAGES}/{{m0}}", f"{{v}}{MESSAGES}/{{m1}}"]},
        {"location": f"{{v}}{MESSAGES}?ids={{m0}},{{m1}}"},
    ),
    Case("more than 20 messages can be posted at once", posted(*range(25)), 201, {"resources": ANYTHING}),
    *[
        Case(f"a body is any JSON: {body}", Ask("GET", f"{MESSAGES}?echo=true"), 200, {"messages": [shown(0, body)], "links": LINK}, given=(posted(body),))
        for body in (None, True, 0, -1.5, "", "é\u2028", [], {}, [1, [2]], {"a": {"b": None}})
    ],
    *[
        Case(f"a ttl of {ttl} is allowed", posted(1, ttl=ttl), 201, {"resources": ANYTHING})
        for ttl in (60, 1_209_600)
    ],
    *[
        Case(f"a ttl of {ttl} is out of bounds", posted(1, ttl=ttl), 400, BAD_REQUEST)
        for ttl in (59, 1_209_601, 0, -1)
    ],
    *[
        Case(f"a ttl is an integer, not {ttl!r}", posted(1, ttl=ttl), 400, BAD_BODY)
        for ttl in ("60", 60.5, [60], {})
    ],
    Case("a message needs a body", Ask("POST", MESSAGES, {"messages": [{"ttl": 60}]}), 400, error("Invalid request body", 'Missing "body" field.')),
    Case("there must be messages", Ask("POST", MESSAGES, {"messages": []}), 400, error("Invalid API request", "No messages to enqueu.")),
    *[
        Case(f"messages are in a document, not {body}", Ask("POST", MESSAGES, body), 400, BAD_REQUEST)
        for body in ("{}", "[]", '[{"body": 1, "ttl": 60}]')
    ],
    *[
        Case(f"messages are an array, not {messages}", Ask("POST", MESSAGES, {"messages": messages}), 400, BAD_BODY)
        for messages in ({}, "text", {"body": 1, "ttl": 60})
    ],
    *[
        Case(f"a document that cannot be read is refused: {body!r}", Ask("POST", MESSAGES, body), 400, BAD_BODY)
        for body in ("{", '{"messages": [}', "nonsense", b"\xff")
    ],
    Case("an array in the array is no message", Ask("POST", MESSAGES, {"messages": [[]]}), 400, BAD_BODY, real="500"),
    Case("more than 256 KiB are refused", posted("x" * 262_144), 400, BAD_REQUEST),
    Case("nearly 256 KiB are taken", posted("x" * 262_000), 201, {"resources": ANYTHING}),
    Case("a ttl that is missing is an hour", Ask("GET", f"{MESSAGES}?echo=true"), 200, {"messages": [shown(0, 1, ttl=3600)], "links": LINK}, given=(Ask("POST", MESSAGES, {"messages": [{"body": 1}]}),)),
    Case("unknown fields are let pass", posted(1, colour="red"), 201, {"resources": ANYTHING}),
]  # fmt: skip

LISTING = [
    _get(MESSAGES, 200, _NO_MESSAGES, name="a queue that is not there has no messages"),
    _get(MESSAGES, 200, _NO_MESSAGES, posted(1), name="who posted a message does not hear its echo"),
    _get(f"{MESSAGES}?echo=false", 200, _NO_MESSAGES, posted(1), name="echo=false is the default"),
    Case(
        "another client sees the message",
        Ask("GET", MESSAGES, headers=_SECOND_CLIENT),
        200,
        {"messages": [shown(0, 1)], "links": LINK},
        given=(posted(1),),
    ),
    _get(
        f"{MESSAGES}?echo=true",
        200,
        {"messages": [shown(0, "a"), shown(1, "b")], "links": LINK},
        posted("a", "b"),
        name="messages are listed from the oldest on",
    ),
    _get(
        f"{MESSAGES}?echo=true&limit=2",
        200,
        {"messages": [shown(0, 0), shown(1, 1)], "links": LINK},
        posted(0, 1, 2),
        name="a page has as many messages as its limit",
    ),
    _get(
        f"{MESSAGES}?echo=true",
        200,
        {"messages": [shown(n, n) for n in range(10)], "links": LINK},
        posted(*range(12)),
        name="a page has ten messages by default",
    ),
    _get(f"{MESSAGES}?echo=true", 200, {"messages": [shown(1, 1)], "links": LINK}, posted(0, 1), claimed(), name="claimed messages are left out"),
    _get(
        f"{MESSAGES}?echo=true&include_claimed=true",
        200,
        {"messages": [shown(0, 0, claim="c0"), shown(1, 1)], "links": LINK},
        posted(0, 1),
        claimed(),
        name="claimed messages are listed when asked for, with their claim",
        real="503 without a marker",
    ),
    _get(
        f"{MESSAGES}?echo=true",
        200,
        {"messages": [shown(0, 0, age=70)], "links": LINK},
        posted(0),
        Wait(70),
        name="a message ages",
    ),
    _get(f"{MESSAGES}?echo=true", 200, _NO_MESSAGES, posted(0, ttl=60), Wait(60), name="a message is gone when its ttl is over"),
    *[
        _get(f"{MESSAGES}?limit={limit}", 400, BAD_REQUEST, name=f"messages are not listed {limit} at a time")
        for limit in (0, 21)
    ],
    *[
        _get(f"{MESSAGES}?{name}=banana", 400, error("Invalid parameter"), name=f"a query's {name} is not banana")
        for name in ("limit", "echo", "include_claimed")
    ],
    _get(f"{MESSAGES}?ids={{m1}},{{m0}}", 200, {"messages": [shown(1, 1), shown(0, 0)]}, posted(0, 1), name="messages are found by their ids, in that order"),
    _get(f"{MESSAGES}?ids={{m0}},nobody", 200, {"messages": [shown(0, 0)]}, posted(0), name="ids that are gone are passed over"),
    _get(f"{MESSAGES}?ids=nobody", 404, NOT_FOUND, posted(0), name="none of the ids is 404"),
    _get(f"{MESSAGES}?ids=nobody", 404, NOT_FOUND, name="ids in a queue that is not there are 404"),
    _get(f"{MESSAGES}?ids={','.join('x' * 21)}", 400, BAD_REQUEST, QUEUE, name="21 ids are too many"),
    _get(f"{MESSAGES}/{{m0}}", 200, shown(0, {"a": 1}), posted({"a": 1}), name="a message is found by its id"),
    _get(f"{MESSAGES}/{{m0}}", 200, shown(0, 0, claim="c0"), posted(0), claimed(), name="a message that is held names its claim"),
    _get(f"{MESSAGES}/nobody", 404, NOT_FOUND, QUEUE, name="a message that is not there is 404"),
    _get(f"{MESSAGES}/{{m0}}", 404, NOT_FOUND, posted(0, ttl=60), Wait(61), name="a message whose time is over is 404"),
]  # fmt: skip

DELETING = [
    Case("a message is deleted", Ask("DELETE", f"{MESSAGES}/{{m0}}"), 204, given=(posted(0),)),
    Case("a message that is gone is deleted, too", Ask("DELETE", f"{MESSAGES}/nobody"), 204, given=(QUEUE,)),
    Case("a message in a queue that is not there is deleted, too", Ask("DELETE", f"{MESSAGES}/nobody"), 204),
    Case("a message that is held is not deleted without its claim", Ask("DELETE", f"{MESSAGES}/{{m0}}"), 403, _HELD, given=(posted(0), claimed())),
    Case("a message that is held is deleted with its claim", Ask("DELETE", f"{MESSAGES}/{{m0}}?claim_id={{c0}}"), 204, given=(posted(0), claimed())),
    Case("a message is not deleted with the claim of others", Ask("DELETE", f"{MESSAGES}/{{m0}}?claim_id={{c1}}"), 403, _HELD, given=(posted(0, 1), claimed(), claimed())),
    Case("a claim that never was deletes nothing", Ask("DELETE", f"{MESSAGES}/{{m0}}?claim_id={OTHER}"), 400, _NO_CLAIM, given=(posted(0), claimed())),
    Case("a claim that is no UUID deletes nothing", Ask("DELETE", f"{MESSAGES}/{{m0}}?claim_id=mine"), 400, _NO_CLAIM, given=(posted(0), claimed())),
    Case("a claim does not delete what nobody holds", Ask("DELETE", f"{MESSAGES}/{{m1}}?claim_id={{c0}}"), 400, _NOT_HELD, given=(posted(0, 1), claimed())),
    Case("a claim that has expired deletes nothing", Ask("DELETE", f"{MESSAGES}/{{m0}}?claim_id={{c0}}"), 400, _NOT_HELD, given=(posted(0), claimed(), Wait(100))),
    Case("a claim that never was does not delete what nobody holds", Ask("DELETE", f"{MESSAGES}/{{m0}}?claim_id={OTHER}"), 400, _NOT_HELD, given=(posted(0),)),
    Case("a message whose claim has expired is deleted without it", Ask("DELETE", f"{MESSAGES}/{{m0}}"), 204, given=(posted(0), claimed(), Wait(100))),
    Case("messages are deleted by their ids, held or not", Ask("DELETE", f"{MESSAGES}?ids={{m0}},{{m1}},nobody"), 204, given=(posted(0, 1), claimed())),
    Case("what was deleted is gone", Ask("GET", f"{MESSAGES}?echo=true"), 200, {"messages": [shown(1, 1)], "links": LINK}, given=(posted(0, 1), Ask("DELETE", f"{MESSAGES}?ids={{m0}}"))),
    Case("21 ids are too many to delete", Ask("DELETE", f"{MESSAGES}?ids={','.join('x' * 21)}"), 400, BAD_REQUEST),
    *[
        Case(f"a queue's messages are not deleted by{what}", Ask("DELETE", f"{MESSAGES}{query}"), 400, BAD_REQUEST, given=(posted(0),))
        for what, query in (
            (" nothing", ""),
            (" no ids", "?ids="),
            (" both ids and pop", "?ids={m0}&pop=1"),
            (" pop 0", "?pop=0"),
            (" pop 21", "?pop=21"),
        )
    ],
    Case("pop takes a number", Ask("DELETE", f"{MESSAGES}?pop=all"), 400, error("Invalid parameter")),
    *[
        Case(
            f"pop {limit} takes the {took} oldest of three",
            Ask("DELETE", f"{MESSAGES}?pop={limit}"),
            200,
            {"messages": [{"id": f"{{m{n}}}", "age": 0, "ttl": 300, "body": n, "claim_id": UUID, "claim_count": 0} for n in range(took)]},
            given=(posted(0, 1, 2),),
        )
        for limit, took in ((1, 1), (2, 2), (20, 3))
    ],
    Case("pop leaves what is held", Ask("DELETE", f"{MESSAGES}?pop=20"), 200, {"messages": [ANYTHING]}, given=(posted(0, 1), claimed())),
    Case("pop of an empty queue gives nothing", Ask("DELETE", f"{MESSAGES}?pop=1"), 200, {"messages": []}, given=(QUEUE,)),
    Case("pop of a queue that is not there gives nothing", Ask("DELETE", f"{MESSAGES}?pop=1"), 200, {"messages": []}),
]  # fmt: skip

COMMON = [*HEADERS, *QUEUES, *STATS, *POSTING, *LISTING, *DELETING, *CLAIMING]
