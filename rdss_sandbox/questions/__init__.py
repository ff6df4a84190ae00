"""What is asked of a sandbox in words: filters, conditions, and until when."""
