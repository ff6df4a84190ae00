"""AMQP 0-9-1 in front of a real broker: everything passes, and the fault stage meets every message."""
