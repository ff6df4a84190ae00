"""RabbitMQ beside the sandbox."""
