"""What the sandbox needs of the machine it runs on: processes, private files, memory, its installation."""
