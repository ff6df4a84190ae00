"""Channels: one protocol over the in-process engine, Kinesis and RabbitMQ."""
