"""An AMQP 0-9-1 relay in front of a real broker; the fault engine sees every message."""
