"""How a handler is certified: as a consumer that an event source mapping hands batches to."""
