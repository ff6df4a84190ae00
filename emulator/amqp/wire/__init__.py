"""AMQP 0-9-1 on the wire: frames, methods, properties of contents, field tables."""
