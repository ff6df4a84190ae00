"""The server behind every HTTP port: HTTP/1.1, HTTP/2, WebSocket, and what it takes from its clients."""
