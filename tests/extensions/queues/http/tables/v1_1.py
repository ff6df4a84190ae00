"""Version 1.1."""

from __future__ import annotations

from tests.extensions.queues.http.case import BAD_BODY, NO_PATH, WRONG_METHOD, Ask, Case
from tests.extensions.queues.http.tables.common import COMMON
from tests.extensions.queues.http.tables.given import CLAIMS, MESSAGES, QUEUE, posted, wrong_methods

_ROUTES = {
    "/queues": "GET",
    "/queues/q": "DELETE GET PUT",
    "/queues/q/stats": "GET",
    MESSAGES: "DELETE GET POST",
    f"{MESSAGES}/x": "DELETE GET",
    CLAIMS: "POST",
    f"{CLAIMS}/x": "DELETE GET PATCH",
    "/ping": "GET HEAD",
}

V1_1 = [
    *COMMON,
    *wrong_methods(_ROUTES, WRONG_METHOD, ("GET", "PUT", "POST", "PATCH", "DELETE")),
    *wrong_methods({path: methods for path, methods in _ROUTES.items() if path != "/ping"}, b"", ("HEAD",)),
    *[
        Case(f"{path} came with v2", Ask(method, path, {}), 404, NO_PATH)
        for method, path in (
            ("POST", "/queues/q/share"),
            ("POST", "/queues/q/purge"),
            ("GET", "/queues/q/subscriptions"),
            ("PUT", "/queues/q/subscriptions/x/confirm"),
        )
    ],
    Case("/metadata went with v1", Ask("GET", "/queues/q/metadata"), 404, NO_PATH),
    Case("a queue shows its metadata", Ask("GET", "/queues/q"), 200, {"a": 1}, given=(Ask("PUT", "/queues/q", {"a": 1}),)),
    Case("a queue without metadata shows none", Ask("GET", "/queues/q"), 200, {}, given=(QUEUE,)),
    Case("a queue that is not there shows none", Ask("GET", "/queues/q"), 200, {}),
    Case(
        "a detailed list shows what was set",
        Ask("GET", "/queues?detailed=true"),
        200,
        {
            "queues": [{"name": "q", "metadata": {"a": 1}, "href": "{v}/queues/q"}],
            "links": [{"rel": "next", "href": "{v}/queues?detailed=true&marker=q"}],
        },
        given=(Ask("PUT", "/queues/q", {"a": 1}),),
    ),
    Case("ping", Ask("GET", "/ping"), 204),
    Case("ping by HEAD", Ask("HEAD", "/ping"), 204),
    Case(
        "a message needs a body that is given, though null will do",
        Ask("POST", MESSAGES, {"messages": [{"body": None}, {}]}),
        400,
        BAD_BODY,
    ),
    Case("what one project posts another does not see", Ask("GET", f"{MESSAGES}?echo=true", headers={"X-Project-ID": "other"}), 200, {"messages": [], "links": []}, given=(posted(1),)),
]  # fmt: skip
