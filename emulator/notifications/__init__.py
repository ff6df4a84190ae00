"""Telling the subscribers of queues what was posted there: webhooks, with retries and confirmation."""

from emulator.notifications.notifier import Notifier

__all__ = ["Notifier"]
