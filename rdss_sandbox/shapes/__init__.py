"""The shapes of the control API, shared by its server, its clients and its OpenAPI document."""
