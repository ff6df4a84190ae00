"""A small repository application, and how a Channel Adaptor reads it: copy both to begin with your own."""
