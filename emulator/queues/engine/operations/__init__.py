"""What can be asked of queues, a file for each kind of thing that is asked about."""
