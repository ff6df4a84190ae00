"""The machine under the sandbox: process ids, private files, and memory."""
