"""Version 2: besides what it has in common with 1.1, reserved metadata, patches, purging, sharing, subscriptions."""

from __future__ import annotations

from typing import Any

from tests.extensions.queues.http.case import (
    ANYTHING,
    BAD_BODY,
    BAD_REQUEST,
    LINK,
    NO_PATH,
    NOT_FOUND,
    UUID,
    WRONG_METHOD,
    Ask,
    Case,
    Wait,
    error,
)
from tests.extensions.queues.http.tables.common import COMMON
from tests.extensions.queues.http.tables.given import (
    CLAIMS,
    MESSAGES,
    QUEUE,
    claimed,
    posted,
    shown,
    wrong_methods,
)

_DEFAULTS = {
    "_max_messages_post_size": 262_144,
    "_default_message_ttl": 3600,
    "_default_message_delay": 0,
    "_dead_letter_queue": None,
    "_dead_letter_queue_messages_ttl": None,
    "_max_claim_count": None,
    "_enable_encrypt_messages": False,
}
_PATCH = {"Content-Type": "application/openstack-messaging-v2.0-json-patch"}
_SUBSCRIPTIONS = "/queues/q/subscriptions"
_HOOK = "http://127.0.0.1:9/"
_SUBSCRIBED = Ask("POST", _SUBSCRIPTIONS, {"subscriber": _HOOK, "ttl": 600, "options": {"a": 1}})
_SUBSCRIPTION = {
    "id": "{s0}",
    "source": "q",
    "subscriber": _HOOK,
    "ttl": 600,
    "age": 0,
    "options": {"a": 1},
    "confirmed": False,
}
_NO_MESSAGES = {"messages": [], "links": []}
_CONFLICT = error("Resource conflict")
_NOT_A_PATCH = error("415 Unsupported Media Type")


def _queue(**metadata: Any) -> Ask:
    return Ask("PUT", "/queues/q", metadata)


def _patch(*operations: Any) -> Ask:
    return Ask("PATCH", "/queues/q", list(operations), _PATCH)


def _set(key: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": f"/metadata/{key}", "value": value}


_ROUTES = {
    "/queues": "GET",
    "/queues/q": "DELETE GET PATCH PUT",
    "/queues/q/stats": "GET",
    "/queues/q/share": "POST",
    "/queues/q/purge": "POST",
    MESSAGES: "DELETE GET POST",
    f"{MESSAGES}/x": "DELETE GET",
    CLAIMS: "POST",
    f"{CLAIMS}/x": "DELETE GET PATCH",
    _SUBSCRIPTIONS: "GET POST",
    f"{_SUBSCRIPTIONS}/x": "DELETE GET PATCH",
    f"{_SUBSCRIPTIONS}/x/confirm": "PUT",
    "/ping": "GET HEAD",
}

METADATA = [
    Case("a queue shows the defaults of what is reserved", Ask("GET", "/queues/q"), 200, _DEFAULTS, given=(QUEUE,)),
    Case("a queue that is not there shows the defaults", Ask("GET", "/queues/q"), 200, _DEFAULTS),
    Case("a queue shows what was set over the defaults", Ask("GET", "/queues/q"), 200, _DEFAULTS | {"a": 1, "_default_message_ttl": 100}, given=(_queue(a=1, _default_message_ttl=100),)),
    Case("a second PUT changes nothing", Ask("GET", "/queues/q"), 200, _DEFAULTS | {"a": 1}, given=(_queue(a=1), _queue(a=2))),
    *[
        Case(f"{key} may be {value}", _queue(**{key: value}), 201)
        for key, value in (
            ("_default_message_ttl", 60), ("_default_message_ttl", 1_209_600), ("_default_message_delay", 900),
            ("_max_messages_post_size", 262_144), ("_dead_letter_queue_messages_ttl", 60), ("_max_claim_count", 1),
            ("_enable_encrypt_messages", True), ("_retry_policy", {"retries_with_no_delay": 1}),
        )
    ],
    *[
        Case(f"{key} of {value} is out of bounds", _queue(**{key: value}), 400, error("Invalid API request", f"{key} can not exceed {said}."))
        for key, value, said in (
            ("_default_message_ttl", 5, "1209600 seconds, and must be at least 60 seconds long"),
            ("_default_message_ttl", 1_209_601, "1209600 seconds, and must be at least 60 seconds long"),
            ("_max_messages_post_size", 262_145, "262144,  and must be at least greater than 0"),
        )
    ],
    Case(
        "claims are counted where their number is limited", Ask("GET", "/queues/q/stats"), 200,
        {"messages": {"claimed": 1, "free": 0, "total": 1} | {key: {"age": 0, "ttl": 300, "body": 1, "claim_id": "{c0}", "claim_count": 1, "created": ANYTHING, "href": f"{{v}}{MESSAGES}/{{m0}}"} for key in ("newest", "oldest")}},
        given=(_queue(_max_claim_count=2, _dead_letter_queue="dead"), posted(1), claimed()),
    ),
    *[
        Case(f"{key} may not be {value}", _queue(**{key: value}), 400, BAD_REQUEST)
        for key, value in (
            ("_default_message_delay", 901), ("_default_message_delay", -1), ("_default_message_delay", "1"),
            ("_dead_letter_queue_messages_ttl", 59), ("_max_claim_count", "3"), ("_enable_encrypt_messages", "yes"),
            ("_retry_policy", "often"), ("_retry_policy", {"minimum_delay": "5"}),
            ("_retry_policy", {"minimum_delay": 30, "maximum_delay": 5}),
            ("_retry_policy", {"minimum_delay": 5, "maximum_delay": 6}),
            ("_retry_policy", {"retry_backoff_function": "random"}),
            ("_retry_policy", {"ignore_subscription_override": "no"}),
        )
    ],
    Case("a queue's own ttl is its messages'", Ask("GET", f"{MESSAGES}?echo=true"), 200, {"messages": [shown(0, 1, ttl=100)], "links": LINK}, given=(_queue(_default_message_ttl=100), Ask("POST", MESSAGES, {"messages": [{"body": 1}]}))),
    Case("a queue's own size is its messages' limit", posted("x" * 100), 400, BAD_REQUEST, given=(_queue(_max_messages_post_size=50),)),
    Case("a queue's own delay is its messages'", claimed(), 204, given=(_queue(_default_message_delay=60), posted(1))),
    Case("a delay is over when it is", claimed(), 201, {"messages": [shown(0, 1, age=60, claim="c0")]}, given=(_queue(_default_message_delay=60), posted(1), Wait(60))),
    Case("a delayed message is not listed", Ask("GET", f"{MESSAGES}?echo=true"), 200, _NO_MESSAGES, given=(_queue(_default_message_delay=60), posted(1))),
    Case("a delayed message is listed when asked for", Ask("GET", f"{MESSAGES}?echo=true&include_delayed=true"), 200, {"messages": [shown(0, 1)], "links": LINK}, given=(_queue(_default_message_delay=60), posted(1))),
    Case("a message's delay goes before the queue's", claimed(), 201, {"messages": [shown(0, 1, claim="c0")]}, given=(_queue(_default_message_delay=60), posted(1, delay=0))),
    Case("a message may have a delay where the queue has none", claimed(), 204, given=(QUEUE, posted(1, delay=60)), real="a delay counts only where the queue has one, too"),
    *[
        Case(f"a delay of {delay} is out of bounds", posted(1, delay=delay), 400, BAD_REQUEST, given=(_queue(_default_message_delay=1),))
        for delay in (-1, 901)
    ],
    Case("a delay is an integer", posted(1, delay="1"), 400, BAD_BODY, given=(_queue(_default_message_delay=1),)),
    Case("pop leaves what is delayed", Ask("DELETE", f"{MESSAGES}?pop=1"), 200, {"messages": []}, given=(_queue(_default_message_delay=60), posted(1))),
    Case(
        "the third claim of a message that may be claimed twice finds nothing",
        claimed(), 204,
        given=(_queue(_max_claim_count=2, _dead_letter_queue="dead"), posted(1), claimed(), Ask("DELETE", f"{CLAIMS}/{{c0}}"), claimed(), Ask("DELETE", f"{CLAIMS}/{{c1}}")),
    ),
    Case(
        "what was claimed too often is among the dead letters",
        Ask("GET", "/queues/dead/messages?echo=true"), 200,
        {"messages": [{"id": "{m0}", "href": "{v}/queues/dead/messages/{m0}", "ttl": 120, "age": 0, "body": 1}], "links": LINK},
        given=(_queue(_max_claim_count=1, _dead_letter_queue="dead", _dead_letter_queue_messages_ttl=120), posted(1), claimed(), Ask("DELETE", f"{CLAIMS}/{{c0}}"), claimed()),
        real="the list of the dead letters is empty",
    ),
    Case(
        "a claim goes on behind what was claimed too often",
        claimed(2), 201, {"messages": [shown(1, 1, claim="c1")]},
        given=(_queue(_max_claim_count=1, _dead_letter_queue="dead"), posted(0, 1), claimed(), Ask("DELETE", f"{CLAIMS}/{{c0}}")),
    ),
]  # fmt: skip

PATCHING = [
    Case("a patch adds", _patch(_set("a", 1)), 200, _DEFAULTS | {"a": 1}, given=(QUEUE,)),
    Case("a patch replaces", _patch({"op": "replace", "path": "/metadata/a", "value": [2]}), 200, _DEFAULTS | {"a": [2]}, given=(_queue(a=1),)),
    Case("a patch removes", _patch({"op": "remove", "path": "/metadata/a"}), 200, _DEFAULTS, given=(_queue(a=1),)),
    Case("a patch does several things", _patch(_set("a", 1), _set("b", 2), {"op": "remove", "path": "/metadata/a"}), 200, _DEFAULTS | {"b": 2}, given=(QUEUE,)),
    Case("a patch sets what is reserved", _patch(_set("_max_claim_count", 3)), 200, _DEFAULTS | {"_max_claim_count": 3}, given=(QUEUE,)),
    Case("a patch replaces a default", _patch({"op": "replace", "path": "/metadata/_default_message_ttl", "value": 70}), 200, _DEFAULTS | {"_default_message_ttl": 70}, given=(QUEUE,)),
    Case("a patch that removes a default changes nothing", _patch({"op": "remove", "path": "/metadata/_default_message_ttl"}), 200, _DEFAULTS, given=(QUEUE,)),
    Case("a patch of nothing changes nothing", _patch(), 200, _DEFAULTS, given=(QUEUE,)),
    Case("a key may have a slash in it", _patch(_set("a~1b~0c", 1)), 200, _DEFAULTS | {"a/b~c": 1}, given=(QUEUE,)),
    *[
        Case(f"a patch does not {op} what is not there", _patch({"op": op, "path": "/metadata/a", "value": 1}), 409, _CONFLICT, given=(QUEUE,))
        for op in ("replace", "remove")
    ],
    Case("a queue that is not there is not patched", _patch(_set("a", 1)), 404, NOT_FOUND),
    Case("a patch has its own content type", Ask("PATCH", "/queues/q", "[]", {"Content-Type": "application/json"}), 415, _NOT_A_PATCH, given=(QUEUE,), real="release 19 has no description"),
    Case("a patch without a content type is refused", Ask("PATCH", "/queues/q", "[]"), 415, _NOT_A_PATCH, given=(QUEUE,), real="release 19 has no description"),
    Case("a patch needs a body", Ask("PATCH", "/queues/q", None, _PATCH), 400, BAD_BODY, given=(QUEUE,)),
    Case("a patch is an array", Ask("PATCH", "/queues/q", {}, _PATCH), 400, BAD_BODY, given=(QUEUE,), real="503"),
    *[
        Case(f"{what} is no operation", _patch(operation), 400, BAD_BODY, given=(QUEUE,))
        for what, operation in (
            ("text", "add"),
            ("an unknown op", {"op": "copy", "path": "/metadata/a", "value": 1}),
            ("no op", {"path": "/metadata/a", "value": 1}),
            ("no path", {"op": "add", "value": 1}),
            ("no value", {"op": "add", "path": "/metadata/a"}),
            ("another root", {"op": "add", "path": "/data/a", "value": 1}),
            ("a path without a slash", {"op": "add", "path": "metadata/a", "value": 1}),
            ("the root itself", {"op": "add", "path": "/metadata", "value": 1}),
            ("a path that goes on", {"op": "add", "path": "/metadata/a/b", "value": 1}),
            ("a path with an empty part", {"op": "add", "path": "/metadata//a", "value": 1}),
            ("an unknown escape", {"op": "add", "path": "/metadata/a~2", "value": 1}),
        )
    ],
    Case("a patch leaves what is reserved within its bounds", _patch(_set("_default_message_ttl", 1)), 400, BAD_BODY, given=(QUEUE,)),
]  # fmt: skip

LISTS = [
    Case(
        "a list counts when asked to",
        Ask("GET", "/queues?with_count=true"), 200,
        {"queues": [{"name": "q", "href": "{v}/queues/q"}], "links": LINK, "count": 1},
        given=(QUEUE,),
    ),
    Case(
        "a detailed list shows the defaults",
        Ask("GET", "/queues?detailed=true"), 200,
        {"queues": [{"name": "q", "metadata": _DEFAULTS | {"a": 1}, "href": "{v}/queues/q"}], "links": LINK},
        given=(_queue(a=1),),
    ),
    Case(
        "a list can be of names with something in them",
        Ask("GET", "/queues?name=rr"), 200,
        {"queues": [{"name": "error", "href": "{v}/queues/error"}], "links": LINK},
        given=(QUEUE, Ask("PUT", "/queues/error")),
        real="the name is ignored",
    ),
    *[
        Case(
            f"a list can be of queues with metadata: {query}",
            Ask("GET", f"/queues?{query}"), 200,
            {"queues": [{"name": name, "href": f"{{v}}/queues/{name}"} for name in names], "links": LINK if names else []},
            given=(_queue(team="red", size=1), Ask("PUT", "/queues/other", {"team": "blue", "size": 1})),
            real="the metadata is ignored",
        )
        for query, names in (("team=red", ["q"]), ("size=1", ["other", "q"]), ("team=red&size=2", []))
    ],
]  # fmt: skip

_INVALID = "Invalid API request"
PURGING = [
    Case("purge without a body takes everything", Ask("POST", "/queues/q/purge"), 204, given=(posted(1), _SUBSCRIBED)),
    *[
        Case(f"purge of {types}", Ask("POST", "/queues/q/purge", {"resource_types": types}), 204, given=(QUEUE,))
        for types in (["messages"], ["subscriptions"], ["messages", "subscriptions"], [])
    ],
    Case("purge of a queue that is not there", Ask("POST", "/queues/q/purge"), 204),
    Case("purge takes what is held", Ask("GET", f"{MESSAGES}/{{m0}}"), 404, NOT_FOUND, given=(posted(0), claimed(), Ask("POST", "/queues/q/purge")), real="leaves what is held"),
    Case("purge of messages leaves subscriptions", Ask("GET", _SUBSCRIPTIONS), 200, {"subscriptions": [_SUBSCRIPTION], "links": LINK}, given=(_SUBSCRIBED, Ask("POST", "/queues/q/purge", {"resource_types": ["messages"]}))),
    Case("purge of subscriptions leaves messages", Ask("GET", f"{MESSAGES}?echo=true"), 200, {"messages": [shown(0, 1)], "links": LINK}, given=(posted(1), Ask("POST", "/queues/q/purge", {"resource_types": ["subscriptions"]}))),
    *[
        Case(f"purge does not know {body}", Ask("POST", "/queues/q/purge", body), 400, error(_INVALID, said), given=(QUEUE,))
        for body, said in (
            ({"resource_types": ["claims"]}, "Resource types must be a sub set of {'messages', 'subscriptions'}."),
            ({}, 'Post body must contain key "resource_types".'),
        )
    ],
    Case("purge takes an object", Ask("POST", "/queues/q/purge", "nonsense"), 400, BAD_BODY, given=(QUEUE,)),
]  # fmt: skip

_SIGNED = {"project": "{project}", "expires": ANYTHING, "signature": ANYTHING}
SHARING = [
    Case("a queue's messages are shared for reading by default", Ask("POST", "/queues/q/share", {}), 200, _SIGNED | {"paths": ["{v}/queues/q/messages"], "methods": ["GET"]}),
    Case(
        "paths and methods are shared in order", Ask("POST", "/queues/q/share", {"paths": ["subscriptions", "claims", "messages"], "methods": ["POST", "GET"]}), 200,
        _SIGNED | {"paths": [f"{{v}}/queues/q/{each}" for each in ("claims", "messages", "subscriptions")], "methods": ["GET", "POST"]},
    ),
    Case("a share may end when it is told to", Ask("POST", "/queues/q/share", {"expires": "2099-01-01T00:00:00"}), 200, _SIGNED | {"paths": ANYTHING, "methods": ["GET"], "expires": "2099-01-01T00:00:00"}),
    *[
        Case(f"{body} is not shared", Ask("POST", "/queues/q/share", body), 400, BAD_REQUEST)
        for body in ({"methods": "GET"}, {"expires": "2001-01-01T00:00:00"}, {"expires": 7})
    ],
    *[
        Case(f"{body} is shared by nobody", Ask("POST", "/queues/q/share", body), 400, error(_INVALID, said))
        for body, said in (({"colour": 1}, "Unknown keys: {'colour'}"), ({"paths": ["messages", "stats"]}, "Invalid paths: {'stats'}"))
    ],
    Case("a share has a document", Ask("POST", "/queues/q/share"), 400, BAD_BODY),
    Case("a signature that is not ours opens nothing", Ask("GET", MESSAGES, headers={"URL-Signature": "0", "URL-Methods": "GET", "URL-Paths": "/v2/queues/q/messages", "URL-Expires": "2099-01-01T00:00:00"}), 404, NO_PATH),
]  # fmt: skip

SUBSCRIBING = [
    Case("a subscription is made, and the queue with it", _SUBSCRIBED, 201, {"subscription_id": UUID}, {"location": f"{{v}}{_SUBSCRIPTIONS}"}),
    Case("a subscriber that has not confirmed gets its subscription again", _SUBSCRIBED, 201, {"subscription_id": "{s0}"}, given=(_SUBSCRIBED,)),
    Case("a subscriber that has confirmed cannot subscribe again", _SUBSCRIBED, 409, _CONFLICT, given=(_SUBSCRIBED, Ask("PUT", f"{_SUBSCRIPTIONS}/{{s0}}/confirm", {"confirmed": True}))),
    *[
        Case(f"a subscriber may be {subscriber}", Ask("POST", _SUBSCRIPTIONS, {"subscriber": subscriber}), 201, {"subscription_id": UUID})
        for subscriber in ("http://a/b", "https://a", "mailto:a@b.example")
    ],
    *[
        Case(f"a subscriber may not be {subscriber!r}", Ask("POST", _SUBSCRIPTIONS, {"subscriber": subscriber}), 400, BAD_REQUEST)
        for subscriber in ("ftp://a", "nonsense", "//a")
    ],
    *[
        Case(f"a subscription is not made of {body}", Ask("POST", _SUBSCRIPTIONS, body), 400, BAD_REQUEST)
        for body in (
            {}, {"ttl": 60}, {"subscriber": _HOOK, "ttl": 59}, {"subscriber": _HOOK, "ttl": "60"},
            {"subscriber": _HOOK, "options": "many"}, {"subscriber": _HOOK, "options": {"_retry_policy": "often"}},
        )
    ],
    Case("a subscription needs a body", Ask("POST", _SUBSCRIPTIONS), 400, BAD_REQUEST),
    Case("subscriptions are listed", Ask("GET", _SUBSCRIPTIONS), 200, {"subscriptions": [_SUBSCRIPTION], "links": [{"rel": "next", "href": f"{{v}}{_SUBSCRIPTIONS}?marker={{s0}}"}]}, given=(_SUBSCRIBED,)),
    Case("a queue without subscriptions lists none", Ask("GET", _SUBSCRIPTIONS), 200, {"subscriptions": [], "links": []}, given=(QUEUE,)),
    Case("a list of subscriptions goes on after its marker", Ask("GET", f"{_SUBSCRIPTIONS}?marker={{s0}}"), 200, {"subscriptions": [_SUBSCRIPTION | {"id": "{s1}", "subscriber": "http://b"}], "links": LINK}, given=(_SUBSCRIBED, Ask("POST", _SUBSCRIPTIONS, {"subscriber": "http://b", "ttl": 600, "options": {"a": 1}})), real="ordered by chance"),
    *[
        Case(f"subscriptions are not listed {limit} at a time", Ask("GET", f"{_SUBSCRIPTIONS}?limit={limit}"), 400, BAD_REQUEST)
        for limit in (0, 21)
    ],
    Case("a subscription is looked at", Ask("GET", f"{_SUBSCRIPTIONS}/{{s0}}"), 200, _SUBSCRIPTION, given=(_SUBSCRIBED,)),
    Case("a subscription ages", Ask("GET", f"{_SUBSCRIPTIONS}/{{s0}}"), 200, _SUBSCRIPTION | {"age": 599}, given=(_SUBSCRIBED, Wait(599))),
    Case("a subscription ends", Ask("GET", f"{_SUBSCRIPTIONS}/{{s0}}"), 404, NOT_FOUND, given=(_SUBSCRIBED, Wait(600))),
    Case("a subscription that never was is 404", Ask("GET", f"{_SUBSCRIPTIONS}/x"), 404, NOT_FOUND, given=(QUEUE,)),
    Case("a subscription is changed", Ask("PATCH", f"{_SUBSCRIPTIONS}/{{s0}}", {"ttl": 900}), 204, headers={"location": f"{{v}}{_SUBSCRIPTIONS}/{{s0}}"}, given=(_SUBSCRIBED,)),
    Case("what was changed is shown", Ask("GET", f"{_SUBSCRIPTIONS}/{{s0}}"), 200, _SUBSCRIPTION | {"subscriber": "http://c", "options": {}}, given=(_SUBSCRIBED, Ask("PATCH", f"{_SUBSCRIPTIONS}/{{s0}}", {"subscriber": "http://c", "options": {}}))),
    Case("a subscription does not take another's subscriber", Ask("PATCH", f"{_SUBSCRIPTIONS}/{{s1}}", {"subscriber": _HOOK}), 409, _CONFLICT, given=(_SUBSCRIBED, Ask("POST", _SUBSCRIPTIONS, {"subscriber": "http://b"}))),
    Case("a subscription that never was is not changed", Ask("PATCH", f"{_SUBSCRIPTIONS}/x", {"ttl": 60}), 404, NOT_FOUND, given=(QUEUE,)),
    *[
        Case(f"a subscription is not changed by {body}", Ask("PATCH", f"{_SUBSCRIPTIONS}/{{s0}}", body), 400, ANYTHING, given=(_SUBSCRIBED,))
        for body in ({}, {"ttl": 1}, {"subscriber": "ftp://a"}, {"options": 1}, {"colour": "red"})
    ],
    Case("a subscription is deleted", Ask("DELETE", f"{_SUBSCRIPTIONS}/{{s0}}"), 204, given=(_SUBSCRIBED,)),
    Case("a subscription that never was is deleted, too", Ask("DELETE", f"{_SUBSCRIPTIONS}/x"), 204),
    Case("a subscription is confirmed", Ask("PUT", f"{_SUBSCRIPTIONS}/{{s0}}/confirm", {"confirmed": True}), 204, headers={"location": f"{{v}}{_SUBSCRIPTIONS}/{{s0}}/confirm"}, given=(_SUBSCRIBED,)),
    Case("what was confirmed shows it", Ask("GET", f"{_SUBSCRIPTIONS}/{{s0}}"), 200, _SUBSCRIPTION | {"confirmed": True}, given=(_SUBSCRIBED, Ask("PUT", f"{_SUBSCRIPTIONS}/{{s0}}/confirm", {"confirmed": True}))),
    Case("a subscription that never was is not confirmed", Ask("PUT", f"{_SUBSCRIPTIONS}/x/confirm", {"confirmed": True}), 404, NOT_FOUND, given=(QUEUE,)),
    *[
        Case(f"{body} confirms nothing", Ask("PUT", f"{_SUBSCRIPTIONS}/{{s0}}/confirm", body), 400, BAD_REQUEST, given=(_SUBSCRIBED,))
        for body in ({}, {"confirmed": "yes"}, {"confirmed": 1})
    ],
]  # fmt: skip

V2 = [
    *COMMON,
    *METADATA,
    *PATCHING,
    *LISTS,
    *PURGING,
    *SHARING,
    *SUBSCRIBING,
    *wrong_methods(_ROUTES, WRONG_METHOD, ("GET", "PUT", "POST", "PATCH", "DELETE")),
    *wrong_methods({path: methods for path, methods in _ROUTES.items() if path != "/ping"}, b"", ("HEAD",)),
    Case("ping", Ask("GET", "/ping"), 204),
    Case("ping by HEAD", Ask("HEAD", "/ping"), 204),
    Case("/metadata went with v1", Ask("GET", "/queues/q/metadata"), 404, NO_PATH),
]
