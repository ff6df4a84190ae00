"""The stages of a batch, from records to rows."""
