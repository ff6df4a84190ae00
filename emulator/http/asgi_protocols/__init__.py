"""HTTP/1.1 and WebSocket by uvicorn, on every port but AWS's."""
