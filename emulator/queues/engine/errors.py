"""What a queue refuses, each with what was asked of it."""

from __future__ import annotations

from emulator.queues.engine.address import Address


class QueuesError(Exception):
    """Something that queues do not do: says what, for people."""


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
    """A message that somebody holds, and that claim was not given."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Message {message} is claimed")


class MessageNotClaimedError(QueuesError):
    """A claim was given, and nobody holds the message."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Message {message} is no longer claimed")


class SubscriberTakenError(QueuesError):
    """Another subscription of the queue has this subscriber."""

    def __init__(self, subscriber: str) -> None:
        super().__init__(f"the subscriber {subscriber} is subscribed to this queue already")


class BadValueError(QueuesError):
    """A value that is outside its bounds, or not of its kind."""


class BadPatchError(QueuesError):
    """A patch that cannot be read."""


class PatchConflictError(QueuesError):
    """A patch replaces or removes what is not there."""


class SourceUnavailableError(QueuesError):
    """The channel that a queue is a view on does not take or give messages now."""
