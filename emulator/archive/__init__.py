"""Copies messages into buckets: the audit log, and the archives of the error and invalid queues."""
