"""Topics with a state of the world (SOW): the engine, its HTTP port, and the service that runs them."""
