"""Signs requests again (AWS Signature Version 4), with botocore and the credentials that it finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

from emulator.http.asgi import Headers

if TYPE_CHECKING:
    from botocore.credentials import Credentials

UNSIGNED_PAYLOAD: Final = "UNSIGNED-PAYLOAD"
_UNSIGNED_TRAILER: Final = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_REPLACED: Final = frozenset(
    {b"authorization", b"host", b"x-amz-date", b"date", b"x-amz-security-token", b"x-amz-content-sha256"}
)
_HOP_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding", b"expect", b"connection"})
_SIGNATURE_PARAMETERS: Final = (
    b"x-amz-algorithm",
    b"x-amz-credential",
    b"x-amz-date",
    b"x-amz-expires",
    b"x-amz-signedheaders",
    b"x-amz-signature",
    b"x-amz-security-token",
)


class CredentialsMissingError(Exception):
    """There are no credentials to sign with. The text says where they are looked for."""


class Signer:
    """Signs requests for one host. The credentials are read for each request, since they expire."""

    def __init__(self, credentials: Credentials, authority: str, *, secure: bool) -> None:
        self._credentials = credentials
        self._authority = authority
        self._base = f"{'https' if secure else 'http'}://{authority}"

    def sign(
        self,
        method: str,
        target: bytes,
        headers: Headers,
        body: bytes | None,
        *,
        service: str,
        region: str,
    ) -> tuple[bytes, Headers]:
        """Sign a request, and return its target and headers. A ``body`` of None is not signed."""
        from botocore.awsrequest import AWSRequest

        path, _, query = target.partition(b"?")
        target = path + (b"?" + kept if (kept := drop_signature(query)) else b"")
        passed = [header for header in headers if header[0] not in _REPLACED]
        signing = [header for header in passed if header[0] not in _HOP_HEADERS]
        request = AWSRequest(
            method=method,
            url=self._base + target.decode("latin-1"),
            headers={name.decode("latin-1"): value.decode("latin-1") for name, value in signing},
            data=body,
        )
        request.headers["host"] = self._authority
        self._build_auth(service, region, _choose_payload_hash(headers, body)).add_auth(request)
        added = {name.lower().encode(): str(value).encode() for name, value in request.headers.items()}
        new = [(name, added[name]) for name in _REPLACED if name in added]
        return target, passed + new

    def _build_auth(self, service: str, region: str, payload: str | None) -> Any:
        from botocore.auth import S3SigV4Auth, SigV4Auth

        frozen = self._credentials.get_frozen_credentials()
        kind = S3SigV4Auth if service == "s3" else SigV4Auth
        auth: Any = kind(frozen, service, region)
        if payload is not None:
            auth.payload = lambda _request: payload
        return auth


def drop_signature(query: bytes) -> bytes:
    """Drop the parameters of a presigned URL from a query, since they were signed for another host."""
    kept = [
        part
        for part in query.split(b"&")
        if unquote_to_bytes(part.partition(b"=")[0]).lower() not in _SIGNATURE_PARAMETERS
    ]
    return b"&".join(kept) if b"X-Amz-Signature" in query else query


def environment_credentials(profile: str | None = None) -> Credentials:
    """Find credentials in the environment, in configuration files, or of the machine's role.

    Raises CredentialsMissingError.
    """
    from botocore.session import Session

    found = Session(profile=profile).get_credentials()
    if found is None:
        raise CredentialsMissingError(
            "no AWS credentials to sign with: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "or AWS_PROFILE, or run aws configure"
        )
    return found


def fixed_credentials(access_key: str, secret_key: str) -> Credentials:
    """Credentials of this pair, for emulators."""
    from botocore.credentials import Credentials

    return Credentials(access_key, secret_key)


def _choose_payload_hash(headers: Headers, body: bytes | None) -> str | None:
    """The text to use as the payload's hash; None when the body is known, so that it is hashed."""
    given: Mapping[bytes, bytes] = dict(headers)
    if given.get(b"x-amz-content-sha256", b"").startswith(b"STREAMING-UNSIGNED"):
        return _UNSIGNED_TRAILER
    return UNSIGNED_PAYLOAD if body is None else None
