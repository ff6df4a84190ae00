"""Tables: their columns, their files, their log and their place."""
