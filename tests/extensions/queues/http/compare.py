"""Plays the cases against a real Zaqar: ``python -m tests.extensions.queues.http.compare http://host:8888``.

Those of the versions that it serves: release 19 has v1, v1.1 and v2 (with ``enable_deprecated_api_versions =
1,1.1``), release 23 has v2. Cases that say how it differs, and those that let the clock move, are left out.
Exit code 1 when another differs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from emulator.rng import new_uuid
from tests.extensions.queues.http.case import Case, Conversation, Wait
from tests.extensions.queues.http.tables import TABLES


@dataclass(frozen=True)
class HttpReply:
    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpServer:
    """A server at a URL."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, trust_env=False, timeout=30)

    def versions(self) -> list[str]:
        """Those that it serves."""
        return [f"v{version['id']}" for version in self._client.get("/").json()["versions"]]

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        reply = self._client.request(method, path, headers=headers, content=body or None)
        return HttpReply(reply.status_code, reply.headers, reply.content)

    def wait(self, seconds: float) -> None:
        raise AssertionError(f"a real server's clock does not move by {seconds} s when told to")


def main(url: str) -> int:
    server = HttpServer(url)
    differing = 0
    for version in server.versions():
        for case in TABLES[version]:
            if case.real or any(isinstance(step, Wait) for step in case.given):
                continue
            difference = _difference(server, version, case)
            # Once more: a second may have ended between two of its requests.
            if difference and (difference := _difference(server, version, case)):
                differing += 1
                sys.stdout.write(f"{version}: {case.name}\n  {difference}\n")
    sys.stdout.write(f"{differing} cases differ\n")
    return 1 if differing else 0


def _difference(server: HttpServer, version: str, case: Case) -> str:
    """How the server answers, where it is not as the case says."""
    try:
        Conversation(server, version, new_uuid()).check(case)
    except AssertionError as difference:
        return str(difference)
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
