"""The messages that a client is tried with: of one contract, the same ones for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from emulator.clock import Clock
from emulator.rng import Chance
from rdss_sandbox.files.filed_messages import read_filed_messages
from rdss_sandbox.files.ndjson import is_line
from schemas.contract import Code, Contract, Sample, describe_contract

_LARGEST_RECORD: Final = 1 << 20
"""Bytes of the largest record of a trial's streams."""
POISON: Final = b"no message"
"""How what is no message begins, where all messages have a form that this has not."""
_TRIES: Final = 60
_MOST_MESSAGES: Final = 1_500
"""More than any trial needs."""


class KitMessages:
    """Makes messages of the most usual kind, and those that only the clauses on the contract need.

    ``maker`` makes all others. ``codes`` are those that a message alone can cause, without that of expiry,
    and that of size where no record is larger than a message may be; ``releases`` the older ones whose
    messages are still taken. The first good messages are those that were ``recorded``. Those of a stage
    depend on the seed and the stage alone, so that it can be played by itself.
    """

    def __init__(self, contract: Contract, seed: int, recorded: Iterable[Sample] = ()) -> None:
        assert contract.samples is not None
        self._contract = contract
        self._chance = Chance(seed)
        self._recorded = iter(recorded)
        self._made: set[str] = set()
        self._begin = contract.samples.from_seed
        self.maker = self._begin(seed, now=Clock().time())
        self._kind = contract.samples.kinds[0]
        left_out = {contract.expired, contract.oversize if contract.max_bytes >= _LARGEST_RECORD else None}
        self.codes = tuple(code for code in contract.samples.codes if code not in left_out)
        self.releases = contract.samples.releases

    def begin(self, stage: str) -> None:
        """Make the messages of a stage from here on; what an earlier one had is not made again."""
        seed = self._chance.draws("messages", stage).getrandbits(32)
        self.maker = self._begin(seed, now=Clock().time())

    def good(self) -> Sample:
        """A valid message."""
        found = next(self._recorded, None) or self.maker.message(self._kind)
        while found.key in self._made:
            found = self.maker.message(self._kind)
        self._made.add(found.key)
        return found

    def bad(self, code: Code) -> Sample:
        """A message that deserves a code, under its own id where that can still be read."""
        made = self.maker.bad(code)
        for _ in range(_TRIES):
            known = self._contract.peek(*made).message_id
            if known is not None and known not in self._made:
                self._made.add(known)
                return Sample(made.data, known)
            made = self.maker.bad(code)
        return made

    def expired(self) -> tuple[Sample, Code]:
        """A message that has expired, and the code that it deserves."""
        assert self._contract.expired is not None
        return self.bad(self._contract.expired), self._contract.expired

    def split(self, whole: Sample, limit: int, new_id: Callable[[], str]) -> list[Sample]:
        """The parts of a big message, with keys of their own."""
        assert self._contract.sequences is not None
        parts = self._contract.sequences.split(whole.data, limit=limit, new_id=new_id)
        return [Sample(part, self._contract.peek(part).message_id or "") for part in parts]

    def digest(self, message: Sample) -> str:
        """The SHA-256 of a message's body."""
        return sha256(self._contract.body(message.data)).hexdigest()


def read_recorded(path: Path, contract: Contract) -> Iterator[Sample]:
    """The messages of a tape that a client is tried with: whole, valid now, and no two alike.

    Raises ValueError for a file that cannot be read.
    """
    known: set[str] = set()
    for each in read_filed_messages(path):
        peek = contract.peek(each.data, each.key)
        name = peek.message_id
        fits = len(each.data) < _LARGEST_RECORD and contract.judge(each.data, now=Clock().time()).valid
        if name is not None and name not in known and peek.part is None and fits:
            known.add(name)
            yield Sample(each.data, name)


def explain_untried(contract: Contract) -> str | None:
    """Say what a contract lacks to try a client with its messages; None where it lacks nothing."""
    if contract.samples is None:
        return f"{describe_contract(contract)} has no samples to try a client with"
    messages = KitMessages(tell_apart(contract), 1)
    try:
        for _ in range(_MOST_MESSAGES if contract.by_digest else 1):
            messages.good()
    except ValueError as error:
        return f"{describe_contract(contract)} has too few messages that differ to try a client with: {error}"
    return None


def are_lines(contract: Contract) -> bool:
    """Whether messages are lines of text; a producer is given each of others in base64."""
    messages = KitMessages(tell_apart(contract), 1)
    return all(is_line(messages.good().data) for _ in range(_TRIES))


def tell_apart(contract: Contract) -> Contract:
    """The contract of a trial: without ids of their own, its messages are known by their bytes.

    The kit makes no two alike, so that the one which a client tells of is never in doubt.
    """
    return contract.by_digest or contract
