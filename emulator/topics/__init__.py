"""Topics with a state of the world: the engine, its port, and the service that feeds them."""
