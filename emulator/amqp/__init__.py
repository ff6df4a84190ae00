"""An AMQP 0-9-1 broker in this process, which answers as RabbitMQ 4.0 does. No network and no threads."""
