"""What a person runs: the command line, profiles, gateway, receiver, simulated applications, pipeline."""
