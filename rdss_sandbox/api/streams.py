"""Streams, their shards and their readers."""

from __future__ import annotations

from rdss_sandbox.api.endpoint import GET, POST, Mode, Subject
from rdss_sandbox.shapes.readers import ReaderList
from rdss_sandbox.shapes.streams import Reshard, Stream, StreamDetail, StreamList


class Streams(Subject[Mode], at=""):
    """Streams, their shards and their readers."""

    @GET("/streams", StreamList, lambda found: found.streams)
    def streams(self) -> tuple[Stream, ...]:
        """The streams, by name."""

    @GET("/streams/{name}", errors={"no_such_stream": 404})
    def stream(self, name: str) -> StreamDetail:
        """A stream and its shards."""

    @POST("/streams/{name}/reshard", errors={"no_such_stream": 404, "no_such_shard": 404, "bad_reshard": 400})
    def reshard(self, name: str, change: Reshard) -> StreamDetail:
        """Split, merge or scale the shards of a stream and return the stream afterwards.

        A refusal of Kinesis has its code, such as ``LimitExceededException``.
        """

    @GET("/readers")
    def readers(self, stream: str | None = None) -> ReaderList:
        """The readers of one stream, or of every stream, with the shard and position of each."""
