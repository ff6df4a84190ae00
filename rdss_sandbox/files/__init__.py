"""Files of messages, and files that are replaced whole."""
