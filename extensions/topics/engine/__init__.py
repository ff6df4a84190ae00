"""The topic engine: publishing, deltas, a state of the world (SOW), queries, subscriptions and queues."""
