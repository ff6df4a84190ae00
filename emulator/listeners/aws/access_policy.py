"""How AWS clients send the sandbox's token, and how the AWS port asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

from emulator.http.admission.guard import AccessPolicy, Response, bearer
from emulator.http.asgi import HttpScope
from emulator.listeners.aws.credentials import caller_of
from emulator.listeners.aws.error_bodies import service_error
from rdss_sandbox.admission import HeaderMap

AWS_HEALTH_PATHS: Final = ("/_localstack/health", "/health")
_AWS_NAMES: Final = re.compile(
    r"(?:.+\.)?(?:localhost|localhost\.localstack\.cloud)|.+\.(?:amazonaws\.com(?:\.cn)?|api\.aws)"
)
"""Host names of buckets and services, for clients that resolve or proxy them themselves. They all belong to
Amazon or lead to this machine by definition, so no page can rebind one (DNS rebinding)."""
_JSON_SERVICES: Final = frozenset({"kinesis", "dynamodb", "ssm", "events", "logs"})
_ACCESS_KEY: Final = re.compile(rb"Credential=([^/,\s]+)/|^AWS ([^:\s]+):")
_AWS_WANTS: Final = (
    "The security token included in the request is invalid: this sandbox asks for its token, as "
    "AWS_SESSION_TOKEN or as AWS_ACCESS_KEY_ID."
)


def _given_to_aws(scope: HttpScope, headers: HeaderMap) -> Iterable[bytes]:
    """The session token or the access key, in headers or in the query of a presigned URL."""
    if token := headers.get(b"x-amz-security-token"):
        yield token
    if found := _ACCESS_KEY.search(headers.get(b"authorization", b"")):
        yield found[1] or found[2]
    query = scope["query_string"]
    if query and b"authorization" not in headers:
        for name, value in parse_qsl(query.decode("latin-1")):
            match name.lower():
                case "x-amz-security-token" | "awsaccesskeyid":
                    yield value.encode()
                case "x-amz-credential":
                    yield value.partition("/")[0].encode()
    yield from bearer(headers)


def _aws_needs_token(scope: HttpScope, headers: HeaderMap) -> Response:
    caller = caller_of(headers.get(b"authorization"), scope["query_string"])
    service = caller.service if caller else "s3"
    if service in _JSON_SERVICES:
        status, code = HTTPStatus.BAD_REQUEST, "UnrecognizedClientException"
    else:
        status = HTTPStatus.FORBIDDEN
        code = "InvalidAccessKeyId" if service == "s3" else "InvalidClientTokenId"
    return Response(status, *service_error(service, headers, code, _AWS_WANTS))


AWS: Final = AccessPolicy(
    "aws",
    _given_to_aws,
    _aws_needs_token,
    is_open=lambda scope: scope["path"] in AWS_HEALTH_PATHS and scope["method"] == "GET",
    is_called=lambda host: _AWS_NAMES.fullmatch(host) is not None,
)
