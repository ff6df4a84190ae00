"""An example: a small repository application and the mapping for it, to copy for your own."""
