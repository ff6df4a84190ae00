"""Telling the subscribers of queues what was posted there: webhooks, with retries and confirmation."""

from emulator.queues.webhooks.notifier import Notifier

__all__ = ["Notifier"]
