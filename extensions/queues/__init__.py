"""Queues with claims, as OpenStack has them: the engine, its HTTP API, webhooks, views on streams."""
