"""The programs of the sandbox: command line, profiles, gateway, receiver, applications, pipeline."""
