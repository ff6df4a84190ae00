"""A client of the topics port: executes single commands and follows subscriptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import httpx
import msgspec

from extensions.topics.engine.commands import Command, SowAndSubscribe, Subscribe
from extensions.topics.engine.outgoing_messages import Ack, Message
from rdss_sandbox.client import RefusedError, UnreachableError
from rdss_sandbox.machine.trusted_authorities import trusting_bundle
from rdss_sandbox.shapes.refusals import Refusal

# The port sends at least a comment every 10 seconds on a subscription.
_PATIENCE = httpx.Timeout(60.0, connect=3.0)


class _PortAnswer(msgspec.Struct):
    messages: list[Message]


class TopicPort:
    """The topics port at ``url``, for the user of ``token``, or for ``user`` on a port without tokens.

    Every method raises UnreachableError and RefusedError, as the client of the control API does.
    """

    def __init__(self, url: str, *, token: str | None = None, user: str | None = None) -> None:
        self.url = url.rstrip("/")
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(
            base_url=self.url,
            headers=headers | ({"x-user-id": user} if user else {}),
            timeout=_PATIENCE,
            trust_env=False,
            verify=self.url.startswith("https:") and trusting_bundle(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def execute(self, command: Command) -> list[Message]:
        """Execute a command that is not a subscription; return the answers with the ``processed`` ack."""
        try:
            answer = self._http.post("/topics/commands", content=msgspec.json.encode(command))
        except httpx.TransportError as error:
            raise UnreachableError(self.url, repr(error)) from error
        try:
            messages = msgspec.json.decode(answer.content, type=_PortAnswer).messages
        except msgspec.DecodeError:
            raise _refused(answer) from None
        for message in messages:
            if isinstance(message, Ack) and message.status == "failure":
                raise RefusedError(answer.status_code, "refused", message.reason)
        return messages

    def follow(self, command: Subscribe | SowAndSubscribe) -> Iterator[Message]:
        """Yield the messages of a subscription until the sandbox ends it."""
        query = {name: value for name, value in msgspec.to_builtins(command).items() if value}
        try:
            with self._http.stream("GET", "/topics/messages", params=query) as answer:
                if answer.is_error:
                    answer.read()
                    raise _refused(answer)
                for line in answer.iter_lines():
                    if line.startswith("data:"):
                        yield msgspec.json.decode(line[5:], type=Message)
        except httpx.TransportError as error:
            raise UnreachableError(self.url, repr(error)) from error


def _refused(answer: httpx.Response) -> RefusedError:
    try:
        problem: Any = msgspec.json.decode(answer.content, type=Refusal).error
    except msgspec.DecodeError:
        text = f"{answer.request.url} answered {answer.status_code}; is it a sandbox's topics port?"
        return RefusedError(answer.status_code, "unexpected_answer", text)
    return RefusedError(answer.status_code, problem.code, problem.message)
