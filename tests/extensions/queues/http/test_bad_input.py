"""Whatever is sent to the messaging port is answered, and never as an error of ours."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extensions.queues.engine import Address, MessageToPost
from tests.extensions.queues.http.case import CLIENT, Ask
from tests.extensions.queues.http.conftest import InProcess

_QUEUE = (
    "stats",
    "share",
    "purge",
    "metadata",
    "messages",
    "messages/x",
    "claims",
    "claims/x",
    "subscriptions",
)
_PATHS = ["", "queues", "queues/q", "ping", "health", *(f"queues/q/{rest}" for rest in _QUEUE)]
_PATHS += ["queues/q/subscriptions/x", "queues/q/subscriptions/x/confirm"]
_ANY_TEXT = st.text(max_size=8).map(lambda text: quote(text, safe=""))
_ANY_PATH = st.lists(st.one_of(st.sampled_from(["queues", "q", "messages", "claims"]), _ANY_TEXT), max_size=6)
_KEYS = ["messages", "body", "ttl", "grace", "delay", "subscriber", "options", "paths", "methods", "expires"]
_KEYS += ["resource_types", "confirmed", "op", "path", "value", "_retry_policy", "_default_message_ttl"]
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)
_NAMES = st.sampled_from(
    ["limit", "marker", "echo", "ids", "pop", "claim_id", "detailed", "name", "with_count", "x"]
)
_QUERIES = st.lists(st.tuples(_NAMES, st.text(max_size=4).map(quote)), max_size=3)
_HEADERS = st.fixed_dictionaries(
    {"Client-ID": st.just(CLIENT), "X-Project-ID": st.just("demo")},
    optional={
        "Content-Type": st.sampled_from(
            ["application/json", "application/openstack-messaging-v2.0-json-patch", "x"]
        ),
        "Accept": st.sampled_from(["*/*", "application/json;q=0", ";;,", "text/html"]),
        "URL-Signature": st.just("0"),
        "URL-Expires": st.sampled_from(["2099-01-01T00:00:00", "soon", "9" * 30]),
    },
)


def _rendered(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (OverflowError, msgspec.MsgspecError):
        return b'{"too": 1e999}'


_REQUESTS = st.builds(
    Ask,
    st.sampled_from(["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS"]),
    st.builds(
        lambda path, query: f"/{path}?" + "&".join(f"{name}={value}" for name, value in query),
        st.one_of(st.sampled_from(_PATHS), st.sampled_from(_PATHS), _ANY_PATH.map("/".join)),
        _QUERIES,
    ),
    st.one_of(st.just(b""), st.binary(max_size=20), _VALUES.map(_rendered)),
    _HEADERS,
)


@settings(max_examples=600)
@given(version=st.sampled_from(["v1", "v1.1", "v2"]), asked=_REQUESTS)
def test_whatever_is_sent_is_answered(version: str, asked: Ask) -> None:
    """No exception, no 5xx, and a body that is JSON wherever there is one."""
    with TemporaryDirectory() as folder:
        server = InProcess(Path(folder, "queues.log"))
        server.engine.messages.post(Address("demo", "q"), [MessageToPost(b"1")], "poster")
        reply = server.send(asked.method, f"/{version}{asked.path}", asked.headers, asked.body)
        server.engine.close()
    assert 200 <= reply.status < 500, reply
    if reply.body:
        msgspec.json.decode(reply.body)


@pytest.mark.parametrize(
    "number",
    ["18446744073709551616", "-9223372036854775809", "1e400", "1" * 400],
    ids=["2 ** 64", "-2 ** 63 - 1", "1e400", "400 digits"],
)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/v2/queues/q", '{"a": [%s]}'),
        ("PUT", "/v1.1/queues/q", '{"a": %s}'),
        ("POST", "/v2/queues/q/messages", '{"messages": [{"body": 1, "ttl": %s}]}'),
        ("POST", "/v2/queues/q/claims", '{"ttl": %s}'),
        ("POST", "/v2/queues/q/subscriptions", '{"subscriber": "http://a", "ttl": %s}'),
        ("POST", "/v2/queues/q/subscriptions", '{"subscriber": "http://a", "options": {"a": %s}}'),
    ],
)
def test_a_number_that_nothing_can_keep_is_refused(
    tmp_path: Path, method: str, path: str, body: str, number: str
) -> None:
    """It is answered with 400, and the queue is as it was, also after a restart."""
    server = InProcess(tmp_path / "queues.log")
    headers = {"Client-ID": CLIENT, "X-Project-ID": "demo"}
    assert server.send(method, path, headers, (body % number).encode()).status == 400
    assert server.send("GET", "/v2/queues/q/stats", headers, b"").status == 200
    server.engine.close()
    assert InProcess(tmp_path / "queues.log").engine.queues.overview() == []


def test_a_body_may_have_any_number_in_it(tmp_path: Path) -> None:
    """Bodies are passed on as they came, so what we cannot read is no matter."""
    server = InProcess(tmp_path / "queues.log")
    headers = {"Client-ID": CLIENT, "X-Project-ID": "demo"}
    body = b'{"messages": [{"body": %s}]}' % (b"1" * 400)
    assert server.send("POST", "/v2/queues/q/messages", headers, body).status == 201
    assert b'"body":%b' % (b"1" * 400) in server.send("POST", "/v2/queues/q/claims", headers, b"").body
    server.engine.close()
