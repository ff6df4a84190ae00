"""Asynchronous messages and simulated external systems."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from rdss_sandbox.api.endpoint import GET, POST, PUT, Mode, Subject
from rdss_sandbox.api.parameters import Number
from rdss_sandbox.shapes.processing import (
    Answer,
    AsyncMessage,
    AsyncMessageDetail,
    AsyncMessagePage,
    NewAsyncMessage,
    OutsideSystem,
    OutsideSystemList,
    Restart,
    Script,
    State,
)

StateName: TypeAlias = Annotated[
    str,
    Meta(description="The state it is in.", extra_json_schema={"enum": [each.value for each in State]}),
]
Source: TypeAlias = Annotated[str, Meta(description="A part of the source's name.")]
Correlation: TypeAlias = Annotated[str, Meta(description="A part of the correlation id.")]
Process: TypeAlias = Annotated[str, Meta(description="A part of the process id.")]
Service: TypeAlias = Annotated[str, Meta(description="A part of the service's name.")]
Operation: TypeAlias = Annotated[str, Meta(description="A part of the operation's name.")]
ErrorCode: TypeAlias = Annotated[str, Meta(description="The code of the last error.")]
Text: TypeAlias = Annotated[str, Meta(description="A part of the message, or of its description.")]
Before: TypeAlias = Annotated[int, Meta(description="Only messages before this number.")]
Most: TypeAlias = Annotated[int, Meta(ge=1, le=1000, description="At most this many.")]
SystemName: TypeAlias = Annotated[str, Meta(extra={"sent_as": "name"})]
_MISSING: Final = {"no_such_message": 404}
_WRONG: Final = {**_MISSING, "wrong_state": 409}


class Processing(Subject[Mode], at="/processing"):
    """Asynchronous messages and simulated external systems. A refusal of processing has its code."""

    @GET("/messages", AsyncMessagePage, lambda found: found.messages)
    def search(
        self,
        *,
        received_from: float | None = None,
        received_to: float | None = None,
        changed_from: float | None = None,
        changed_to: float | None = None,
        source: Source | None = None,
        correlation: Correlation | None = None,
        process: Process | None = None,
        state: StateName | None = None,
        error_code: ErrorCode | None = None,
        service: Service | None = None,
        operation: Operation | None = None,
        text: Text | None = None,
        before: Before | None = None,
        limit: Most = 100,
    ) -> tuple[AsyncMessage, ...]:
        """The newest messages that match. Times are in seconds since the epoch.

        ``source``, ``correlation``, ``process``, ``service`` and ``operation`` match substrings. ``text``
        matches a substring of the body, the description, the business errors or the custom data. ``before``
        matches messages with a lower number.
        """

    @POST("/messages", status=202)
    def receive(self, new: NewAsyncMessage) -> AsyncMessageDetail:
        """Hand over a message, as a source system does. It is persisted when this returns."""

    @GET("/messages/{number}", errors=_MISSING)
    def show(self, number: Number) -> AsyncMessageDetail:
        """A message with its calls, changes and children."""

    @POST("/messages/{number}/restart", errors=_WRONG)
    def restart(self, number: Number, how: Restart) -> AsyncMessageDetail:
        """Process a message again, wholly or in part."""

    @POST("/messages/{number}/cancel", errors=_WRONG)
    def cancel(self, number: Number) -> AsyncMessageDetail:
        """Cancel a message."""

    @POST("/messages/{number}/answer", errors=_WRONG)
    def answer(self, number: Number, answer: Answer) -> AsyncMessageDetail:
        """Give a message the answer that it waits for."""

    @GET("/systems", OutsideSystemList, lambda found: found.systems)
    def systems(self) -> tuple[OutsideSystem, ...]:
        """The simulated external systems."""

    @PUT(
        "/systems/{name}/script",
        OutsideSystemList,
        lambda found: found.systems,
        errors={"no_such_system": 404, "bad_script": 400},
    )
    def script(self, system: SystemName, script: Script) -> tuple[OutsideSystem, ...]:
        """Set the next answers of a system and return every system."""
