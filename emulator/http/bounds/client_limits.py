"""The limits for one client of a port. Beyond a limit it is refused, with the reason.

Clients that mean well come nowhere near a limit. Each limit keeps one client from making the others wait,
or the process from growing. Lengths are bytes. Times are seconds of the machine, since clients wait in real
time. ``docs/security.md`` documents them for users.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Rate(NamedTuple):
    """A burst of ``at_once``, and ``a_second`` in the long run."""

    at_once: int
    a_second: int


class Limits(NamedTuple):
    """The limits of one port: the number of its connections, and what each may do."""

    connections: int = 1000
    """Open at a time. The next is answered 503. A process can open a few thousand files in all."""

    # -- HTTP, either version

    target_bytes: int = 16 << 10
    """A request's target, path and query: the request line of AWS's load balancers. 414 beyond."""
    head_bytes: int = 64 << 10
    """The names and values of a request's headers: the whole header of AWS's load balancers. 431 beyond."""
    header_fields: int = 500
    """Headers of a request: S3's own 8 KB of metadata cannot hold more. 431 beyond."""
    head_seconds: float = 30.0
    """From the first byte of a request to the end of its headers, and from a connection to its first byte."""
    body_seconds: float = 30.0
    """For each ``body_step`` of a body, and for its end: 408."""
    body_step: int = 32 << 10
    idle_seconds: float = 120.0
    """Between requests, longer than any pool of AWS's clients keeps a connection."""
    crowded_seconds: float = 5.0
    """The most for each of these while more than half of the ``connections`` are open."""
    unread_seconds: float = 60.0
    """Until a client reads anything of an answer that is ready."""

    # -- HTTP/2, RFC 9113 section 10.5: beyond, GOAWAY with ENHANCE_YOUR_CALM

    streams: int = 128
    """Running requests at a time, as at AWS. Those beyond are refused one by one."""
    unsent_bytes: int = 32 << 20
    """Of answers that wait for the client's window. While there is more, new streams are refused."""
    resets: Rate = Rate(200, 50)
    """Cancelled requests, cancelled by the client or by us: each has cost the work of a request."""
    pings: Rate = Rate(100, 20)
    settings: Rate = Rate(50, 5)
    priorities: Rate = Rate(1000, 200)
    empty_frames: Rate = Rate(1000, 200)
    """DATA without bytes that ends no stream, and frames of unknown types."""
    window_updates: Rate = Rate(20_000, 10_000)
    """An eager reader sends two for each frame of an answer."""

    # -- WebSocket: beyond, close 1008; a message beyond ``MESSAGE_BYTES``: close 1009

    fragments: Rate = Rate(5000, 1000)
    """Frames that do not end a message. A message of 4 MiB in frames of 1 KiB has 4096."""
    socket_pings: Rate = Rate(100, 20)
    """Pings and pongs."""

    # -- AMQP: beyond, connection.close 501

    heartbeats: Rate = Rate(100, 20)
    frame_bytes: int = 1 << 20
    """The payload of a frame, whatever a client has negotiated: RabbitMQ's default is 128 KiB."""
    content_bytes: int = 128 << 20
    """Of contents that are arriving on one connection. RabbitMQ accepts no message beyond 128 MiB."""


USUAL: Final = Limits()

BODY_BYTES: Final = 256 << 20
"""Bodies and messages that are still arriving, of all ports together. Beyond: 503, or close 1013."""
ANSWER_BYTES: Final = 256 << 20
"""Long answers of the AWS port that clients have not read yet, of all connections together. Beyond: 503."""
MESSAGE_BYTES: Final = 4 << 20
"""A message over WebSocket."""
BODY_AHEAD: Final = 32
"""A body's buffer is at most this many times what has arrived, whatever its Content-Length promises."""

SLICE_BYTES: Final = 4096
"""A slice of a connection's input, before others have their turn. The worst input costs 5 ms for it."""
SLICE_SECONDS: Final = 0.002
"""How long the frames of one connection are processed before others have their turn."""
TURN_SECONDS: Final = 0.005
"""The part of each turn of the event loop for all connections of a port with more than one slice."""
YOUNG_REQUESTS: Final = 64
"""How many requests of one port may be young, that is have started within ``YOUNG_SECONDS`` and run."""
YOUNG_SECONDS: Final = 0.05
