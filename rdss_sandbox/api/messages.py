"""Messages: pages, counts and exports of those that a filter selects, single ones, and new ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rdss_sandbox.api.endpoint import GET, POST, Mode, Subject, download
from rdss_sandbox.api.parameters import Id, Limit, Matching, Position
from rdss_sandbox.shapes.contract import MessageVerdict
from rdss_sandbox.shapes.messages import (
    Count,
    Counts,
    MessageDetail,
    MessagePage,
    MessageReads,
    NewMessage,
    Original,
    Redrive,
    Sent,
    SentSamples,
    WantedSamples,
)
from rdss_sandbox.shapes.sequences import JoinedSequence, SequencePage

_BAD_FILTER: Final = {"bad_filter": 400}
_NO_ORIGINAL: Final = {"no_such_message": 404, "message_gone": 410, "other_object": 409}
_NOT_SENT: Final = {"no_such_stream": 404, "connection_cut": 502}
_NOT_REDRIVEN: Final = {**_NO_ORIGINAL, **_NOT_SENT, "no_origin": 409}
# The largest record that a stream can allow (10 MiB), in base64, with room for the other fields.
_MOST_SENT_BYTES: Final = 15 << 20


class Messages(Subject[Mode], at="/messages"):
    """Messages in the streams, as an index keeps them. ``filter`` is in the language of the message list."""

    @GET("", errors=_BAD_FILTER)
    def messages(
        self,
        *,
        offset: int | None = None,
        after: Position | None = None,
        limit: Limit = 100,
        matching: Matching = "",
    ) -> MessagePage:
        """Up to ``limit`` messages that the filter selects, oldest first.

        ``offset`` starts the page at that match, counted from 0, or from the end when negative. ``after``
        starts it at the first match with a higher id. Without both it starts at the first match.
        """

    @GET("/counts", Counts, lambda found: found.counts, errors=_BAD_FILTER)
    def counts(self, by: str = "code", *, matching: Matching = "") -> tuple[Count, ...]:
        """The number of messages for each value of ``stream``, or of a field that the contract counts."""

    @download("/export", "application/x-ndjson", errors=_BAD_FILTER)
    def export(self, matching: Matching = "") -> Iterator[bytes]:
        """All messages that the filter selects, as NDJSON, each as it was sent."""

    @GET("/{id}", errors={"no_such_message": 404})
    def message(self, row_id: Id) -> MessageDetail:
        """The whole message with this id, which ``GET /messages`` lists."""

    @GET("/{id}/original", errors=_NO_ORIGINAL)
    def original(self, row_id: Id) -> Original:
        """The message as its sender sent it; where it did not fit into its queue, from the bucket."""

    @GET("/{id}/verdict", errors=_NO_ORIGINAL)
    def verdict(self, row_id: Id) -> MessageVerdict:
        """The contract's verdict on the message as its sender sent it, at the time of its arrival."""


class StoredMessages(Subject[Mode], at="/messages"):
    """Messages with what the streams hold of them."""

    @download("/stored", "application/x-ndjson", errors=_BAD_FILTER)
    def stored(self, matching: Matching = "") -> Iterator[bytes]:
        """All messages that the filter selects and the streams still hold, oldest first.

        Each is a ``StoredMessage`` on a line: what the list shows of it, and its payload in base64.
        """

    @GET("/reads", errors=_BAD_FILTER)
    def reads(self, matching: Matching = "") -> MessageReads:
        """Who was given the messages that the filter selects, of the oldest 200 of these.

        Reads through the AWS port are known, and subscriptions; reads by the sandbox's own parts are not.
        """


class Sending(Subject[Mode], at="/messages"):
    """New messages."""

    @POST("", status=201, most_bytes=_MOST_SENT_BYTES, errors=_NOT_SENT)
    def send(self, message: NewMessage) -> Sent:
        """Put the message into its stream and return where it is. Faults apply to it."""


class Samples(Subject[Mode], at="/samples"):
    """Messages that the sandbox makes."""

    @POST("", status=201, errors={"no_such_stream": 404, "no_such_samples": 400, "too_many_parts": 400})
    def send_samples(self, wanted: WantedSamples) -> SentSamples:
        """Make messages as the contract has them, or bad ones, and put them into their stream.

        Faults apply to them. What is refused does not end it: the rest is sent.
        """


class Redriving(Subject[Mode], at="/redriven"):
    """Messages that are sent again."""

    @POST("", status=201, most_bytes=_MOST_SENT_BYTES, errors=_NOT_SENT)
    def redrive(self, message: NewMessage) -> Sent:
        """Send a message of a queue again: without the queue's error, and with a note in its history."""

    @POST("/{id}", status=201, most_bytes=_MOST_SENT_BYTES, errors=_NOT_REDRIVEN)
    def redrive_message(self, row_id: Id, again: Redrive | None = None) -> Sent:
        """Send the message with this id again, as its sender sent it or edited.

        Where no stream is named, it goes where it came from; one whose origin is not known needs a name.
        """


class Sequences(Subject[Mode], at="/sequences"):
    """Sequences: messages in several parts."""

    @GET("", errors=_BAD_FILTER)
    def sequences(
        self,
        *,
        offset: Position = 0,
        limit: Limit = 100,
        matching: Matching = "",
        unfinished: bool = False,
    ) -> SequencePage:
        """Up to ``limit`` sequences from ``offset`` on, oldest first; ``unfinished`` ones lack a part."""

    @GET("/{sequence}/joined", errors={"no_such_sequence": 404, "too_many_parts": 413})
    def joined(self, sequence: str, *, stream: str) -> JoinedSequence:
        """The message that the parts in a stream make: of at most 200, repeated ones included."""
