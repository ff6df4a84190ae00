"""What the messages of a contract need so that a stream in order, or a queue, can carry them."""

from __future__ import annotations

from sandbox.certify.kit_messages import KitMessages, tell_apart
from schemas.contract import Contract, describe_contract


def are_named_by_content(contract: Contract) -> bool:
    """Whether a message has its id whatever its partition key is."""
    if contract.samples is None:
        return False
    named = tell_apart(contract)
    data, key = KitMessages(named, 1).good()
    return named.peek(data, "").message_id == named.peek(data, key).message_id


def explain_unqueued(contract: Contract) -> str | None:
    """Say why a queue of SQS cannot carry the messages of a contract; None where it can."""
    if not are_named_by_content(contract):
        return f"messages of {describe_contract(contract)} are named by a partition key, and a queue has none"
    try:
        KitMessages(tell_apart(contract), 1).good().data.decode()
    except UnicodeDecodeError:
        return f"messages of {describe_contract(contract)} are no text, and a queue of SQS carries text"
    return None
