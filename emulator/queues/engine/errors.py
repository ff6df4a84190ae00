"""What a queue refuses, each with what was asked of it."""

from __future__ import annotations

from emulator.queues.engine.address import Address


class QueuesError(Exception):
    """Something that queues do not do: says what, for people."""


class NotThere(QueuesError):  # noqa: N818 -- named as the answer it is
    """A queue, message, claim or subscription that does not exist, or no longer does."""


class QueueNotThere(NotThere):
    """No such queue."""

    def __init__(self, at: Address) -> None:
        super().__init__(f"Queue {at.name} does not exist for project {at.project}")


class MessageNotThere(NotThere):
    """No such message in the queue."""

    def __init__(self, at: Address, message: str) -> None:
        super().__init__(f"Message {message} does not exist in queue {at.name} for project {at.project}")


class ClaimNotThere(NotThere):
    """No such claim on the queue, or it has expired."""

    def __init__(self, at: Address, claim: str) -> None:
        super().__init__(f"Claim {claim} does not exist in queue {at.name} for project {at.project}")


class SubscriptionNotThere(NotThere):
    """No such subscription, or it has expired."""

    def __init__(self, subscription: str) -> None:
        super().__init__(f"Subscription {subscription} does not exist")


class MessageClaimed(QueuesError):  # noqa: N818 -- as above
    """A message that somebody holds, and that claim was not given."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Message {message} is claimed")


class MessageNotClaimed(QueuesError):  # noqa: N818 -- as above
    """A claim was given, and nobody holds the message."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Message {message} is no longer claimed")


class SubscriberTaken(QueuesError):  # noqa: N818 -- as above
    """Another subscription of the queue has this subscriber."""

    def __init__(self, subscriber: str) -> None:
        super().__init__(f"the subscriber {subscriber} is subscribed to this queue already")


class BadValue(QueuesError):  # noqa: N818 -- as above
    """A value that is outside its bounds, or not of its kind."""


class BadPatch(QueuesError):  # noqa: N818 -- as above
    """A patch that cannot be read."""


class PatchConflict(QueuesError):  # noqa: N818 -- as above
    """A patch replaces or removes what is not there."""


class SourceUnavailable(QueuesError):  # noqa: N818 -- as above
    """The channel that a queue is a view on does not take or give messages now."""
