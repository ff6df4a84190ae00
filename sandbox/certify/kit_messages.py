"""The messages that a client is tried with: of one contract, the same ones for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from emulator.clock import Clock
from schemas.contract import Code, Contract, Sample, describe_contract


class KitMessages:
    """Makes messages of the most usual kind, and those that only the clauses on the contract need.

    ``maker`` makes all others. ``codes`` are those that a message alone can cause, without that of expiry;
    ``releases`` the older ones whose messages are still taken.
    """

    def __init__(self, contract: Contract, seed: int) -> None:
        assert contract.samples is not None
        self._contract = contract
        self.maker = contract.samples.from_seed(seed, now=Clock().time())
        self._kind = contract.samples.kinds[0]
        self.codes = tuple(code for code in contract.samples.codes if code != contract.expired)
        self.releases = contract.samples.releases

    def good(self) -> Sample:
        """A valid message."""
        return self.maker.message(self._kind)

    def expired(self) -> tuple[Sample, Code]:
        """A message that has expired, and the code that it deserves."""
        assert self._contract.expired is not None
        return self.maker.bad(self._contract.expired), self._contract.expired

    def split(self, whole: Sample, limit: int, new_id: Callable[[], str]) -> list[Sample]:
        """The parts of a big message, with keys of their own."""
        assert self._contract.sequences is not None
        parts = self._contract.sequences.split(whole.data, limit=limit, new_id=new_id)
        return [Sample(part, self._contract.peek(part).message_id or "") for part in parts]

    def digest(self, message: Sample) -> str:
        """The SHA-256 of a message's body."""
        return sha256(self._contract.body(message.data)).hexdigest()


def explain_untried(contract: Contract) -> str | None:
    """Say what a contract lacks to try a client with its messages; None where it lacks nothing."""
    if contract.samples is None:
        return f"{describe_contract(contract)} has no samples to try a client with"
    made = contract.samples.from_seed(1, now=Clock().time()).message()
    if contract.identity(contract.peek(made.data, made.key)) is None:
        return (
            f"{describe_contract(contract)} does not say where the id of a message is, and a client tells of "
            "messages by their ids"
        )
    return None
