"""What the sandbox asks of a contract: what a message says of itself, a verdict on it, and its decoration.

A contract is the form of the messages of one system. Its functions are attributes of one object, bound when
the process starts: who asks once for each message keeps them, as ``judge = contract.judge``. A capability
that a contract lacks is None, and whoever needs it does not offer what needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from schemas.fields import Field
from schemas.headers import Headers
from schemas.personal import Personal

if TYPE_CHECKING:
    from random import Random  # noqa: TID251 -- the type of what is handed in

MOST_FOUND: Final = 1_000
"""The most violations of one kind that are looked for in a message: a large one may have a million."""
MOST_NAMED: Final = 10
"""The most violations of one message that are named; the others are counted."""
LOOKED_AT: Final = 64 * 1024
"""The bytes that are searched for the fields of a damaged message: what names it comes early in it."""
LONGEST_WHY: Final = 4_000
"""The most characters of the reason of a refusal, few enough that it does not make a message oversize."""


class Code(str):
    """An error code: its text, what it means, and the queue that its messages go to."""

    __slots__ = ()
    description: str
    queue: str


class Violation(NamedTuple):
    """One wrong field: its JSON Pointer (RFC 6901), the broken rule, and a message with the value.

    The path is empty for the message as a whole.
    """

    path: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class Verdict(NamedTuple):
    """``code`` is the error code of the gravest of the ``violations``, None for a valid message.

    ``upgraded`` is a valid message of an older release in the form of the present one; else None.
    """

    valid: bool
    code: Code | None
    violations: tuple[Violation, ...]
    upgraded: bytes | None = None

    @property
    def why(self) -> str:
        """The reason of a refusal, for an error description or a log; empty for a valid message."""
        return "; ".join(self.sentences())[:LONGEST_WHY]

    def sentences(self, most: int = MOST_NAMED) -> list[str]:
        """The violations, ``most`` of them at most, then the number of the others."""
        more = len(self.violations) - most
        others = f"at least {more}" if len(self.violations) >= MOST_FOUND else str(more)
        return [*map(str, self.violations[:most]), *([f"and {others} more"] if more > 0 else [])]


class Failures(NamedTuple):
    """The codes of what goes wrong with a message that may be valid.

    The ``system`` below failed, a ``rollback`` failed, a message is ``unsent`` after all retries, what
    happened is ``unknown``, or a message is ``misaddressed``: it names a place that does not exist.
    """

    system: Code
    rollback: Code
    unsent: Code
    unknown: Code
    misaddressed: Code


class Part(NamedTuple):
    """The place of a part in its sequence, a message in several parts; ``position`` counts from 1."""

    sequence: str
    position: int
    total: int


class Peek(Protocol):
    """What a message says of itself; None for what could not be read.

    ``published`` and ``expires`` are times as written. ``damaged`` means that the fields were searched in
    bytes that have not the message's form.
    """

    @property
    def message_id(self) -> str | None: ...

    @property
    def message_type(self) -> str | None: ...

    @property
    def error_code(self) -> str | None: ...

    @property
    def published(self) -> str | None: ...

    @property
    def expires(self) -> str | None: ...

    @property
    def damaged(self) -> bool: ...

    @property
    def part(self) -> Part | None:
        """The place in a sequence; None for a whole message, and where the place cannot be read."""


class Judge(Protocol):
    """Gives the whole verdict on the bytes of a message: size, form, fields, expiry; never raises."""

    def __call__(self, raw: bytes, *, now: float | None = None) -> Verdict:
        """``now`` is in seconds since the epoch; None leaves the expiry out."""


class Decorate(Protocol):
    """Writes the code and the reason of a refusal into a message, whatever its bytes are."""

    def __call__(
        self,
        raw: bytes,
        code: Code,
        description: str,
        *,
        now: float,
        machine_id: str = ...,
        machine_address: str = ...,
        original: str | None = None,
    ) -> bytes:
        """``original`` is the address of the whole message, which then stands in place of its body.

        What comes back is no larger than a message may be if there is an ``original``.
        """


class Stamp(Protocol):
    """Adds a machine to those that a message says it has passed; other bytes stay as they are."""

    def __call__(self, raw: bytes, machine_id: str, machine_address: str, *, now: float) -> bytes: ...


class Envelope(NamedTuple):
    """The names of the two fields of a message in which its header and its body are."""

    header: str
    body: str


class Undecorated(NamedTuple):
    """A message as its sender sent it, and what was written into it since.

    ``reason`` is that of a refusal, and ``redriven`` how often it was sent again from a queue. Where it did
    not fit into its queue, ``data`` is what the queue holds of it, and ``address`` where the whole is, with
    its ``sha256`` in hexadecimal digits.
    """

    data: bytes
    reason: str | None = None
    redriven: int = 0
    address: str | None = None
    sha256: str | None = None


class Joined(NamedTuple):
    """The parts of a sequence as one message, None where they do not make one, and the verdict on it."""

    whole: bytes | None
    verdict: Verdict


class Sequences(Protocol):
    """Messages in several parts. ``patience`` is the time in seconds that a sequence waits for its parts."""

    @property
    def patience(self) -> float: ...

    def split(self, raw: bytes, *, new_id: Callable[[], str], limit: int | None = None) -> list[bytes]:
        """Cut a message into parts of at most ``limit`` bytes, by default those of the largest message.

        One that fits is its own only part. Another's first part keeps its id, the others get one from
        ``new_id``, a source of UUIDs. Raises ValueError for what cannot be split.
        """

    def describe_shared_id(self, message_id: str | None) -> str:
        """The warning about parts of one sequence that have the same id."""

    def judge_unsent(self, raw: bytes, *, now: float | None = None) -> Verdict:
        """The verdict on a message that its sender may still split: a whole one has any size."""

    def judge_part(self, part: Part, *, total: int | None, taken: bool) -> Verdict:
        """The verdict on the place of a part among those that came before it.

        ``total`` is what they say of the number of parts, None when there are none. ``taken`` means that
        one of them is at this position and has another body.
        """

    def judge_parts(self, parts: Iterable[bytes], *, now: float | None = None) -> Joined:
        """Join the parts, and judge what they make, of whatever release."""

    def judge_overdue(self, sequence: str, came: int, total: int, waited: float) -> Verdict:
        """The verdict on the parts that came of a sequence that is given up after ``waited`` seconds."""


class Versions(Protocol):
    """Messages of older releases of the contract."""

    @property
    def judge(self) -> Judge:
        """Judge as a receiver: what is invalid in the present form may be valid in its own release's."""


class PublishedObject(NamedTuple):
    """A version of an object as a message publishes it.

    ``key`` is what names the version. ``previous`` are the keys of those that it follows; ``linked`` says
    that it names any other. ``digest`` is of what it holds, however it is written.
    """

    key: str
    update: bool
    previous: frozenset[str]
    linked: bool
    digest: bytes


class Objects(Protocol):
    """Messages that publish versions of objects, each under a key of its own."""

    def read(self, raw: bytes, peek: Peek, /) -> PublishedObject | None:
        """What a valid message publishes; None for one that publishes no version by itself."""


class Sample(NamedTuple):
    """A message, and the key that its sender gives it: the partition key of its record."""

    data: bytes
    key: str


class SampleMaker(Protocol):
    """Makes messages from one seed: with the same seed and calls they are the same, byte for byte."""

    def message(
        self, kind: str | None = None, *, variant: str | None = None, expires: float | None = None
    ) -> Sample:
        """Make a valid message of a kind, by default a drawn one; ``expires`` is in seconds since the epoch.

        Raises ValueError for an unknown kind, for a ``variant`` that it has not, and for ``expires`` where
        messages do not expire.
        """

    def stream(self, count: int) -> Iterator[Sample]:
        """Make so many valid messages, in which every kind is early."""

    def big_message(self, parts: int, *, limit: int | None = None) -> Sample:
        """Make a valid message that ``Sequences.split`` cuts into so many parts of at most ``limit`` bytes.

        Raises ValueError for a limit that is too low, and where the contract has no sequences.
        """

    def bad(self, code: Code) -> Sample:
        """Make a message that ``judge`` refuses with one of the ``Samples.codes``; ValueError for others."""

    def older(self, release: str) -> Sample:
        """Make a message that is valid in one of the ``Samples.releases`` alone; ValueError for others."""


class Samples(Protocol):
    """Messages to try a client with.

    ``kinds`` are those of the contract's messages, the most usual first; ``variants`` are what their contents
    can be about, where that makes another form. ``codes`` are those that a message
    alone can cause, ``releases`` the older ones whose messages are still taken.
    """

    @property
    def kinds(self) -> tuple[str, ...]: ...

    @property
    def variants(self) -> tuple[str, ...]: ...

    @property
    def codes(self) -> tuple[Code, ...]: ...

    @property
    def releases(self) -> tuple[str, ...]: ...

    def from_seed(self, seed: int, *, now: float) -> SampleMaker:
        """Begin with a seed. The first message is published at ``now``, in seconds since the epoch.

        Raises ValueError for a time at which no message can be published.
        """


class Changes(Protocol):
    """Changes of messages in transit. ``codes`` are those that a changed message can cause."""

    @property
    def codes(self) -> tuple[Code, ...]: ...

    def spoil(self, raw: bytes, code: Code, draws: Random) -> bytes | None:
        """Change a whole message so that it causes ``code``; None where the code cannot apply to it."""

    def grow(self, raw: bytes, size: int) -> bytes | None:
        """Make a message ``size`` bytes large and leave it as valid as it was; None where that cannot be."""


class Documents(Protocol):
    """Texts in people's files that may be less than a message, such as a header alone."""

    def explain(self, raw: bytes) -> str | None:
        """Say what the text is if it is neither a message nor a piece of one; else None."""

    def judge(self, raw: bytes, *, now: float | None = None) -> Verdict:
        """The verdict on the text as it is; the paths in a piece start at the piece. Never raises."""

    def complete(self, raw: bytes, *, seed: int, now: float) -> bytes:
        """Make a piece a whole message, in which it stays byte for byte; other bytes stay as they are."""


class Content(NamedTuple):
    """What valid messages of some kinds carry, as columns of a table that is known by the ``name``.

    ``columns`` are types by name, as Spark writes them, without blanks; none is called as one of
    ``OF_RECORDS``. All names are as ``name_columns`` makes them. ``read`` makes the values, some or all, of
    the bytes of a valid message.
    """

    name: str
    columns: Mapping[str, str]
    read: Callable[[bytes], Mapping[str, Any]]


class Contract(Protocol):
    """The form of a system's messages. ``codes`` are its error codes by name, the gravest first or as listed.

    ``expired`` is the code of a message that comes too late, None where messages do not expire; ``oversize``
    that of one with more than ``max_bytes``. ``rejects`` says whether there are queues that refused messages
    have to go to. ``fields`` are in the order in which they are listed.
    ``envelope`` is None where a message is one object, with nothing around it.
    """

    @property
    def name(self) -> str: ...

    @property
    def release(self) -> str: ...

    @property
    def media_type(self) -> str: ...

    @property
    def codes(self) -> Mapping[str, Code]: ...

    @property
    def failures(self) -> Failures: ...

    @property
    def expired(self) -> Code | None: ...

    @property
    def oversize(self) -> Code: ...

    @property
    def max_bytes(self) -> int: ...

    @property
    def rejects(self) -> bool: ...

    @property
    def envelope(self) -> Envelope | None: ...

    @property
    def fields(self) -> tuple[Field, ...]: ...

    def peek(self, raw: bytes, key: str = "", /) -> Peek:
        """Read what a message says of itself, from any bytes; never raises.

        ``key`` is what its transport knows it by: the partition key of a record, or empty.
        """

    def identity(self, peek: Peek) -> str | None:
        """What tells a message, or a part, from all others; None where it cannot be read."""

    def body(self, raw: bytes, /) -> bytes:
        """What a message carries, as written: the same in a whole message and in its joined parts.

        Raises ValueError for bytes that have none.
        """

    @property
    def by_digest(self) -> Contract | None:
        """The same contract, but the id of a message is the SHA-256 of its bytes, in hexadecimal digits.

        None where every message says its own id.
        """

    @property
    def judge(self) -> Judge: ...

    @property
    def headers(self) -> Headers | None:
        """None where no verdict asks for headers."""

    @property
    def without_headers(self) -> Contract:
        """The contract on a transport that carries none; itself where it asks for none."""

    @property
    def decorate(self) -> Decorate: ...

    def undecorate(self, raw: bytes, /) -> Undecorated:
        """Take out of a message what ``decorate`` wrapped, whatever its bytes are; never raises."""

    def redrive(self, raw: bytes, /, *, now: float) -> bytes:
        """Remove the decoration of a message that is sent again, and note that in it; other bytes stay.

        ``now`` is in seconds since the epoch.
        """

    @property
    def stamp(self) -> Stamp | None: ...

    @property
    def sequences(self) -> Sequences | None: ...

    @property
    def versions(self) -> Versions | None: ...

    @property
    def objects(self) -> Objects | None: ...

    @property
    def documents(self) -> Documents | None: ...

    @property
    def contents(self) -> Mapping[str, Content]:
        """By what messages say of their type; empty where tables have only what the ``fields`` say."""

    @property
    def personal(self) -> Personal: ...

    @property
    def samples(self) -> Samples | None: ...

    @property
    def changes(self) -> Changes | None: ...


def describe_contract(contract: Contract) -> str:
    """Its name and its release."""
    return f"{contract.name} {contract.release}"


def list_queues(contract: Contract) -> tuple[str, ...]:
    """The queues that refused messages go to."""
    return tuple(sorted({str(code.queue) for code in contract.codes.values()}))


def judge_received(contract: Contract) -> Judge:
    """The judge of a receiver, who takes messages of older releases too."""
    return contract.versions.judge if contract.versions else contract.judge


def judge_sent(contract: Contract) -> Judge:
    """The judge of a sender, who may still split what is too large."""
    return contract.sequences.judge_unsent if contract.sequences else contract.judge
