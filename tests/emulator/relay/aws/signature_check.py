"""A server that verifies Signature Version 4, written from AWS' document and not with botocore."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from emulator.http.asgi import App, HttpScope, Receive, Send, answer, whole_body

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, "
    r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})"
)
_MUST_BE_SIGNED = {"host", "x-amz-date"}


@dataclass
class Verifier:
    """Lets a request through to ``app`` when its signature is of these keys, and answers 403 otherwise."""

    app: App
    access_key: str
    secret_key: str
    token: str | None = None
    refused: list[str] = field(default_factory=list)
    passed: int = 0

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        body = await whole_body(receive)
        why = self._wrong(scope, body)
        if why:
            self.refused.append(f"{scope['method']} {scope['raw_path'].decode()}: {why}")
            said = b'{"__type":"InvalidSignatureException","message":"refused"}'
            await answer(send, 403, [(b"content-type", b"application/x-amz-json-1.1")], said)
            return
        self.passed += 1
        given = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> object:
            return given.pop() if given else await receive()

        await self.app(scope, again, send)

    def _wrong(self, scope: HttpScope, body: bytes) -> str | None:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode().lower(), []).append(value.decode())
        found = _AUTHORIZATION.fullmatch(headers.get("authorization", [""])[0])
        if found is None:
            return "no authorization"
        key, day, region, service, signed, signature = found.groups()
        names = signed.split(";")
        amazon = {name for name in headers if name.startswith("x-amz-")}
        if missing := (_MUST_BE_SIGNED | amazon) - set(names):
            return f"not signed: {missing}"
        if key != self.access_key or headers.get("x-amz-security-token", [None])[0] != self.token:
            return "another's key"
        if b"X-Amz-Signature" in scope["query_string"]:
            return "signed twice"
        if why := _wrong_payload(headers, body, service):
            return why
        canonical = "\n".join(
            (
                scope["method"],
                _path(scope["raw_path"].decode(), service),
                _query(scope["query_string"].decode()),
                *(f"{name}:{','.join(' '.join(v.split()) for v in headers.get(name, []))}" for name in names),
                "",
                signed,
                headers.get("x-amz-content-sha256", [hashlib.sha256(body).hexdigest()])[0],
            )
        )
        place = f"{day}/{region}/{service}/aws4_request"
        stamp = headers["x-amz-date"][0]
        to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{place}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        secret = f"AWS4{self.secret_key}".encode()
        for part in (day, region, service, "aws4_request"):
            secret = hmac.digest(secret, part.encode(), "sha256")
        right = hmac.digest(secret, to_sign.encode(), "sha256").hex()
        return None if hmac.compare_digest(right, signature) else f"wrong signature of\n{canonical}"


def _wrong_payload(headers: dict[str, list[str]], body: bytes, service: str) -> str | None:
    said = headers.get("x-amz-content-sha256", [""])[0]
    if service == "s3" and not said:
        return "S3 wants x-amz-content-sha256"
    if said.startswith("STREAMING-AWS4"):
        return "chunks that are signed for somebody else"
    if re.fullmatch("[0-9a-f]{64}", said) and said != hashlib.sha256(body).hexdigest():
        return "the payload is another"
    return None


def _path(path: str, service: str) -> str:
    return path if service == "s3" else quote(path, safe="/-_.~")


def _query(query: str) -> str:
    pairs = [part.partition("=") for part in query.split("&") if part]
    coded = sorted((quote(unquote(n), safe="-_.~"), quote(unquote(v), safe="-_.~")) for n, _, v in pairs)
    return "&".join(f"{name}={value}" for name, value in coded)
