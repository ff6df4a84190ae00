"""What a person looks at: a Textual app over the control API, and nothing else."""
