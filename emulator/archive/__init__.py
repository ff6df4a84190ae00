"""The way of messages into buckets: the audit log and the archives of the queues."""
