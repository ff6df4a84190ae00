"""The server of every HTTP port: HTTP/1.1, HTTP/2 and WebSocket, with limits for each client."""
