"""Topics over the network: commands as JSON on a WebSocket, or over HTTP with server-sent events."""

from emulator.listeners.topics.app import TopicsApp

__all__ = ["TopicsApp"]
