"""Where the sandbox is put together: the only room that knows all the others."""
