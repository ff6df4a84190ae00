"""The content-based router: it routes the messages of a stream to institutions by their tenants."""
