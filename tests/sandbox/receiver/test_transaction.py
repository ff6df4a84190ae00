"""What a message costs the receiver: one transaction, one checkpoint, one look at its header."""

from __future__ import annotations

from contextlib import closing

from schemas.contract import SampleMaker
from schemas.rdss.contract import Rdss
from schemas.rdss.envelope import serialise
from schemas.rdss.peek import Peek, peek
from tests.sandbox.receiver.receiver_on_tapes import Messages, Tapes


def test_the_checkpoint_is_written_once_in_the_transaction_of_the_work(
    any_tapes: Tapes, samples: SampleMaker
) -> None:
    """Work, status and checkpoint are committed together, and the channel's commit writes nothing more."""
    any_tapes.put(samples.message())
    statements: list[list[str]] = []
    with closing(any_tapes.open()) as repository:
        reader = any_tapes.receiver(repository)
        reader.step()
        any_tapes.put(samples.message())
        repository._store.set_trace_callback(lambda statement: statements.append(statement.split()[:3]))
        assert reader.step() == 1
    written = [" ".join(words) for words in statements if words[0] not in {"SELECT", "SAVEPOINT", "RELEASE"}]
    assert written == [
        "BEGIN IMMEDIATE",
        "INSERT INTO arrivals",
        "INSERT INTO messages",
        "INSERT INTO checkpoints",
        "COMMIT",
    ]


def test_the_header_is_read_once(tapes: Tapes, messages: Messages) -> None:
    """What identifies a message also says its version, and is what the application is given."""
    looks: list[bytes] = []

    class Counting(Rdss):
        def peek(self, data: bytes, _key: str = "") -> Peek:
            looks.append(data)
            return peek(data)

    tapes.contract = Counting()
    sent = [serialise(messages.small()) for _ in range(3)]
    for data in sent:
        tapes.input.put(data)
    tapes.receive()
    assert looks == sent
    assert [message_id for message_id, *_ in tapes.arrivals()] == [peek(data).message_id for data in sent]
