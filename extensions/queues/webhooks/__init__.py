"""Webhooks: notifies the subscribers of queues of new messages, with retries and confirmation."""

from extensions.queues.webhooks.notifier import Notifier

__all__ = ["Notifier"]
