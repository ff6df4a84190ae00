"""The clauses that only producers for RabbitMQ have."""
