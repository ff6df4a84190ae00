"""The parts of the client, a file for each subject of the control API."""
