"""The clauses that only consumers of RabbitMQ have."""
