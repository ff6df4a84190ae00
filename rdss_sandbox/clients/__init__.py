"""Sub-clients of the control API, one file for each subject."""
