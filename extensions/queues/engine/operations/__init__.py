"""The operations of the queue engine, a file for each subject."""
