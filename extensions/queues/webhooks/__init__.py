"""Webhooks: notifies the subscribers of queues of new messages, with retries and confirmation."""
