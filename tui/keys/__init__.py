"""What keys do, how they are set, and the command line that does the same."""
