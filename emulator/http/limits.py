"""What one client may ask of a port, all of it in one place: beyond a limit it is refused, with the reason.

No limit is near what a client of AWS, RabbitMQ, queues or topics does. Each keeps one client from making the
others wait, or the process from growing. Lengths are bytes, times are seconds of the machine: a client's
patience is not the sandbox's clock. ``docs/security.md`` says the same to people.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Rate(NamedTuple):
    """``at_once`` of something in one go, and ``a_second`` of it for good."""

    at_once: int
    a_second: int


class Limits(NamedTuple):
    """Limits of one port: of the number of its connections, and of each of them."""

    connections: int = 1000
    """Open at a time; the next is answered 503. What one process may open is a few thousand in all."""

    # -- HTTP, either version

    target_bytes: int = 16 << 10
    """A request's target, path and query: the request line of AWS's load balancers. 414 beyond."""
    head_bytes: int = 64 << 10
    """The names and values of a request's headers: the whole header of AWS's load balancers. 431 beyond."""
    header_fields: int = 500
    """Headers of a request: S3's own 8 KB of metadata cannot hold more. 431 beyond."""
    head_seconds: float = 30.0
    """From the first byte of a request to the end of its headers, and for a connection to say anything."""
    body_seconds: float = 30.0
    """For each ``body_step`` of a body, and for its end: 408."""
    body_step: int = 32 << 10
    idle_seconds: float = 120.0
    """Between requests, longer than any pool of AWS's clients keeps a connection."""
    crowded_seconds: float = 5.0
    """What takes the place of each of these when more than half of the ``connections`` are open."""
    unread_seconds: float = 60.0
    """For a client to read anything of an answer that is ready."""

    # -- HTTP/2, RFC 9113 section 10.5: beyond, GOAWAY with ENHANCE_YOUR_CALM

    streams: int = 128
    """Requests under way at a time: AWS's own number. Those beyond are refused one by one."""
    unsent_bytes: int = 32 << 20
    """Of answers that wait for the client's window; while there are more, new streams are refused."""
    resets: Rate = Rate(200, 50)
    """Cancelled requests, whoever cancels them, each of which has cost the work of one."""
    pings: Rate = Rate(100, 20)
    settings: Rate = Rate(50, 5)
    priorities: Rate = Rate(1000, 200)
    empty_frames: Rate = Rate(1000, 200)
    """DATA of no bytes that ends nothing, and frames of unknown types."""
    window_updates: Rate = Rate(20_000, 10_000)
    """An eager reader sends two for each frame of an answer."""

    # -- WebSocket: beyond, close 1008

    fragments: Rate = Rate(5000, 1000)
    """Frames that end no message. One message of 4 MiB in frames of 1 KiB has 4096."""
    socket_pings: Rate = Rate(100, 20)
    """Pings and pongs."""

    # -- AMQP: beyond, connection.close 501

    heartbeats: Rate = Rate(100, 20)
    frame_bytes: int = 1 << 20
    """The payload of a frame, whatever a client has negotiated: RabbitMQ's default is 128 KiB."""
    content_bytes: int = 128 << 20
    """Of contents that are on their way on one connection; RabbitMQ takes no message beyond 128 MiB."""


USUAL: Final = Limits()

BODY_BYTES: Final = 256 << 20
"""Bodies and messages that are still arriving, of all ports together: 503, or close 1013, beyond."""
BODY_AHEAD: Final = 32
"""A body's memory is at most so many times what has come of it, whatever its Content-Length promises."""

SLICE_BYTES: Final = 4096
"""Of what one connection sent, before others have their turn: what it costs most to read is 5 ms."""
SLICE_SECONDS: Final = 0.002
"""As long as frames of one connection are worked on before others have their turn."""
TURN_SECONDS: Final = 0.005
"""Of each turn of the event loop, for all connections of a port that have more than one slice to do."""
YOUNG_REQUESTS: Final = 64
"""Requests of one port that have begun within ``YOUNG_SECONDS`` and last, before others begin."""
YOUNG_SECONDS: Final = 0.05
