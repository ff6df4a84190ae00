"""WebSocket, on the ports whose applications take it."""
