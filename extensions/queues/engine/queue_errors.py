"""The errors of queues."""

from __future__ import annotations

from extensions.queues.engine.address import Address


class QueuesError(Exception):
    """A refused operation; the text is for people."""


class NotThereError(QueuesError):
    """A queue, message, claim or subscription that does not exist, or no longer does."""


class QueueNotThereError(NotThereError):
    """No such queue."""

    def __init__(self, at: Address) -> None:
        super().__init__(f"Queue {at.name} does not exist for project {at.project}")


class MessageNotThereError(NotThereError):
    """No such message in the queue."""

    def __init__(self, at: Address, message: str) -> None:
        super().__init__(f"Message {message} does not exist in queue {at.name} for project {at.project}")


class ClaimNotThereError(NotThereError):
    """No such claim on the queue, or it has expired."""

    def __init__(self, at: Address, claim: str) -> None:
        super().__init__(f"Claim {claim} does not exist in queue {at.name} for project {at.project}")


class SubscriptionNotThereError(NotThereError):
    """No such subscription, or it has expired."""

    def __init__(self, subscription: str) -> None:
        super().__init__(f"Subscription {subscription} does not exist")


class MessageClaimedError(QueuesError):
    """The message is held by a claim, and the right claim was not given."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Message {message} is claimed")


class MessageNotClaimedError(QueuesError):
    """A claim was given, but no claim holds the message."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Message {message} is no longer claimed")


class SubscriberTakenError(QueuesError):
    """Another subscription of the queue has this subscriber."""

    def __init__(self, subscriber: str) -> None:
        super().__init__(f"the subscriber {subscriber} is subscribed to this queue already")


class BadValueError(QueuesError):
    """A value outside its bounds, or of the wrong type."""


class BadPatchError(QueuesError):
    """A patch that cannot be parsed."""


class PatchConflictError(QueuesError):
    """A patch replaces or removes a missing key."""


class SourceUnavailableError(QueuesError):
    """The channel of a view cannot be read or written now."""
